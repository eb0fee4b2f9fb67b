package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/lab/standin"
)

// local are the local backends, Google's own emulator of Firestore among them, with a world written to them.
type local struct{ *backends.Backends }

func startLocal(ctx context.Context) (local, error) {
	b, err := backends.Start(ctx, backends.Options{ManualTasks: true, ShareFirestore: true})
	return local{b}, err
}

// behind empties the backends, writes a world to them, and puts a link before them. The environment says where to ask.
func (l local) behind(ctx context.Context, w standin.World, link standin.Link) (front *standin.Front, environment map[string]string, err error) {
	if err := l.fill(ctx, w); err != nil {
		return nil, nil, fmt.Errorf("write the world to the local backends: %w", err)
	}
	at := l.Environment()
	front = standin.NewFront(link)
	var errs [4]error
	environment = map[string]string{}
	environment[backends.FirestoreHost], errs[0] = front.GRPC(at[backends.FirestoreHost])
	environment[backends.TasksHost], errs[1] = front.GRPC(at[backends.TasksHost])
	environment[backends.FirebaseStorageHost], errs[2] = front.HTTP(at[backends.FirebaseStorageHost])
	environment[backends.AuthHost], errs[3] = front.HTTP(at[backends.AuthHost])
	environment[backends.StorageHost] = "http://" + environment[backends.FirebaseStorageHost]
	if err := errors.Join(errs[:]...); err != nil {
		return nil, nil, errors.Join(err, front.Close())
	}
	return front, environment, nil
}

func (l local) fill(ctx context.Context, w standin.World) error {
	at := l.Environment()
	empty, err := http.NewRequestWithContext(ctx, http.MethodDelete,
		"http://"+at[backends.FirestoreHost]+"/emulator/v1/projects/"+project+"/databases/(default)/documents", http.NoBody)
	if err != nil {
		return err
	}
	if err := send(empty); err != nil {
		return err
	}
	l.Storage().Clear(bucket)
	l.Auth().Clear(project)
	conn, err := grpc.NewClient("passthrough:///"+at[backends.FirestoreHost], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	to := &filler{client: pb.NewFirestoreClient(conn), database: "projects/" + project + "/databases/(default)", world: w}
	for _, c := range w.Collections {
		if err := to.write(ctx, c); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	if err := errors.Join(to.flush(ctx), conn.Close()); err != nil {
		return err
	}
	for i := range w.Objects.Len {
		metadata := map[string]string{}
		w.Objects.Metadata(i, func(name, value string) { metadata[name] = value })
		if err := l.Storage().Put(bucket, w.Objects.Name(i), metadata); err != nil {
			return err
		}
	}
	return l.signUp(ctx, w.Accounts)
}

// signUp makes the accounts, a thousand at a time.
func (l local) signUp(ctx context.Context, a standin.Accounts) error {
	var uids []string
	for i := range a.Len {
		uids = append(uids, a.UID(i))
	}
	for some := range slices.Chunk(uids, 1000) {
		users := make([]map[string]string, len(some))
		for i, uid := range some {
			users[i] = map[string]string{"localId": uid}
		}
		body, err := json.Marshal(map[string]any{"users": users})
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost,
			"http://"+l.Environment()[backends.AuthHost]+"/identitytoolkit.googleapis.com/v1/projects/"+project+"/accounts:batchCreate", bytes.NewReader(body))
		if err != nil {
			return err
		}
		if err := send(r); err != nil {
			return err
		}
	}
	return nil
}

func send(r *http.Request) error {
	r.Header.Set("Authorization", "Bearer owner") // the emulators' administrator
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", r.Method, r.URL, answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// filler writes documents, many at a time.
type filler struct {
	client   pb.FirestoreClient
	database string
	world    standin.World
	writes   []*pb.Write
}

func (f *filler) write(ctx context.Context, c standin.Collection) error {
	for i := range c.Len {
		d := &pb.Document{Name: f.database + "/documents/" + c.Path + "/" + c.ID(i), Fields: map[string]*pb.Value{}}
		for _, name := range c.Names {
			if v := c.Field(i, name); v != nil {
				d.Fields[name] = v
			}
		}
		f.writes = append(f.writes, &pb.Write{Operation: &pb.Write_Update{Update: d}})
		if len(f.writes) == 500 {
			if err := f.flush(ctx); err != nil {
				return err
			}
		}
		for _, sub := range c.Sub {
			if err := f.write(ctx, f.world.Below(strings.TrimPrefix(d.Name, f.database+"/documents/")+"/"+sub)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *filler) flush(ctx context.Context) error {
	if len(f.writes) == 0 {
		return nil
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner", "google-cloud-resource-prefix", f.database)
	_, err := f.client.Commit(ctx, &pb.CommitRequest{Database: f.database, Writes: f.writes})
	f.writes = nil
	return err
}
