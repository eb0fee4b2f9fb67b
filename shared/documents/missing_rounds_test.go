package documents_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/usage"
)

// answerTime is how long each answer takes by the clock of a synctest bubble. That clock advances only while every goroutine
// waits.
const answerTime = 40 * time.Millisecond

// names answers queries and counts of documents by their names, in place of a service.
type names struct {
	exists func(id string) bool
}

func (n names) stream(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &answered{ctx: ctx, exists: n.exists}, nil
}

// unreachable keeps a client from connecting: the clock of a bubble stands still while a goroutine waits for the network.
var unreachable = grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
})

type answered struct {
	grpc.ClientStream
	ctx     context.Context // of the call
	exists  func(id string) bool
	answers []proto.Message
}

// SendMsg takes the request and makes the answer.
func (s *answered) SendMsg(m any) error {
	found := func(q *firestorepb.StructuredQuery) (all []string) {
		for _, v := range q.GetWhere().GetFieldFilter().GetValue().GetArrayValue().GetValues() {
			if s.exists(path.Base(v.GetReferenceValue())) {
				all = append(all, v.GetReferenceValue())
			}
		}
		return all
	}
	now := timestamppb.Now()
	switch r := m.(type) {
	case *firestorepb.RunAggregationQueryRequest:
		a := r.GetStructuredAggregationQuery()
		n := int64(len(found(a.GetStructuredQuery())))
		s.answers = append(s.answers, &firestorepb.RunAggregationQueryResponse{ReadTime: now, Result: &firestorepb.AggregationResult{
			AggregateFields: map[string]*firestorepb.Value{a.GetAggregations()[0].GetAlias(): {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: n}}},
		}})
	case *firestorepb.RunQueryRequest:
		for _, name := range found(r.GetStructuredQuery()) {
			s.answers = append(s.answers,
				&firestorepb.RunQueryResponse{ReadTime: now, Document: &firestorepb.Document{Name: name, CreateTime: now, UpdateTime: now}})
		}
	default:
		return fmt.Errorf("a %T", m)
	}
	return nil
}

// CloseSend implements grpc.ClientStream.
func (s *answered) CloseSend() error {
	time.Sleep(answerTime)
	return nil
}

// RecvMsg gives an answer.
func (s *answered) RecvMsg(m any) error {
	if len(s.answers) == 0 {
		return io.EOF
	}
	proto.Merge(m.(proto.Message), s.answers[0])
	s.answers = s.answers[1:]
	return nil
}

// TestMissingTakesThreeRoundTrips tries, for each number of ids and of missing ones, many arrangements.
func TestMissingTakesThreeRoundTrips(t *testing.T) {
	// other tests set it, and Google's client would connect to it
	t.Setenv("FIRESTORE_EMULATOR_HOST", "")
	most := map[int]int64{0: 1, 1: 7, 2: 14, 3: 18, 4: 22, 5: 26, 30: 1} // reads for thirty, as the comment of Missing says
	for k := 6; k < 30; k++ {
		most[k] = 31 - int64(k)
	}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(30, 2))
		absent := map[string]bool{}
		service := names{exists: func(id string) bool { return !absent[id] }}
		c, err := documents.Open(t.Context(), documents.Database{Project: "p", ID: "(default)", EmulatorHost: "127.0.0.1:1"},
			grpc.WithChainStreamInterceptor(service.stream), unreachable)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		for n := 1; n <= 30; n++ {
			ids := things(n, func(int) bool { return true })
			for k := 0; k <= n; k++ {
				for range 6 {
					clear(absent)
					for _, i := range random.Perm(n)[:k] {
						absent[ids[i]] = true
					}
					want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !absent[id] })
					m, began := new(usage.Meter), time.Now()
					got, err := c.Reader().Missing(usage.NewContext(t.Context(), m), "things", ids)
					if err != nil || !slices.Equal(got, want) {
						t.Fatalf("%d of %d: %v, %v; want %v", k, n, got, err, want)
					}
					reads := m.Usage().FirestoreReads
					if trips := time.Since(began) / answerTime; trips > 3 || reads > int64(n) && n > 1 || n == 30 && reads > most[k] {
						t.Errorf("%d of %d: %d round trips and %d reads", k, n, trips, reads)
					}
				}
			}
		}
	})
}

// TestMissingWhileSomebodyWrites changes which documents exist between any two answers. An id that is reported as missing
// must have been missing in one of them.
func TestMissingWhileSomebodyWrites(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 14))
	ids := things(30, func(int) bool { return true })
	for range 300 {
		absent, ever := map[string]bool{}, map[string]bool{}
		for _, i := range random.Perm(30)[:1+random.IntN(5)] {
			absent[ids[i]] = true
		}
		service := &restless{random: random, ids: ids, absent: absent, ever: ever}
		c, err := documents.Open(t.Context(), documents.Database{Project: "p", ID: "(default)", EmulatorHost: "127.0.0.1:1"},
			grpc.WithChainStreamInterceptor(service.stream), unreachable)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Reader().Missing(t.Context(), "things", ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range got {
			if !ever[id] {
				t.Errorf("%s is said to be missing, and existed whenever it was asked for", id)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// restless answers like names, but after each answer one document appears or disappears. ever has the ids that were absent in
// any answer.
type restless struct {
	mu           sync.Mutex
	random       *rand.Rand
	ids          []string
	absent, ever map[string]bool
}

func (r *restless) stream(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer,
	_ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &restlessStream{answered: answered{ctx: ctx, exists: r.exists}, r: r}, nil
}

func (r *restless) exists(id string) bool {
	if r.absent[id] {
		r.ever[id] = true
	}
	return !r.absent[id]
}

type restlessStream struct {
	answered
	r *restless
}

// SendMsg implements grpc.ClientStream.
func (s *restlessStream) SendMsg(m any) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	defer func() {
		id := s.r.ids[s.r.random.IntN(len(s.r.ids))]
		for absent := range s.r.absent { // one that was missing is created, another goes
			delete(s.r.absent, absent)
			break
		}
		s.r.absent[id] = true
	}()
	return s.answered.SendMsg(m)
}

// CloseSend implements grpc.ClientStream.
func (s *restlessStream) CloseSend() error { return nil }
