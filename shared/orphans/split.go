package orphans

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// leastShard is how many things are worth a shard.
const leastShard = 1000

// Split returns the function that divides what [Plan] goes through into ranges of about the same size.
func Split(passes ...Pass) func(ctx context.Context, p *cleanup.Planner, n int) ([]cleanup.Bounds, error) {
	return func(ctx context.Context, p *cleanup.Planner, n int) ([]cleanup.Bounds, error) {
		begin := beginning(p, passes)
		var cuts []cut
		total := 0
		var outOfTime error
		for i, pass := range passes[begin.Pass:] {
			if !wanted(p, pass) {
				continue
			}
			first := place{Pass: begin.Pass + i, Owner: begin.Owner}
			if i == 0 {
				first = begin
			}
			pieces, err := pass.pieces(ctx, p, first.names())
			if err != nil && !errors.Is(err, cleanup.ErrOutOfTime) {
				return nil, err
			}
			for j, piece := range pieces {
				at := first
				if j > 0 {
					at.Name, at.Included = piece.from, true
				}
				cuts = append(cuts, cut{at, piece.n})
				total += piece.n
			}
			if outOfTime = err; err != nil {
				rest := total / (n - 1) // counts for what was not listed, so that it is a range of its own
				cuts[len(cuts)-1].n = rest
				total += rest
				break
			}
		}
		return joined(cuts, total, min(n, total/leastShard)), outOfTime
	}
}

// cut is a place where a range may begin, and the number of things between it and the next cut.
type cut struct {
	at place
	n  int
}

// joined joins pieces to n ranges of about the same size.
func joined(cuts []cut, total, n int) (all []cleanup.Bounds) {
	if n < 2 {
		return nil
	}
	before := 0
	for _, c := range cuts {
		// A range begins at the first piece that reaches into its part of the whole.
		if due := total * len(all) / n; before >= due && len(all) < n {
			text := c.at.text()
			if last := len(all) - 1; last >= 0 {
				all[last].End = text
			}
			all = append(all, cleanup.Bounds{Begin: text})
		}
		before += c.n
	}
	return all
}

// piece is the names from one on, up to where the next piece begins.
type piece struct {
	from string
	n    int // how many there are
}

// mostPieces bounds how many names of a listing are kept in memory. It is even, and much larger than the number of shards.
const mostPieces = 4096

// sampled divides listed names, in their order, into pieces of one size: each begins with one of every so many names. When
// checkTime returns an error, so does sampled. The last of its pieces then counts nothing: nobody knows how many names follow.
func sampled(pages iter.Seq2[[]string, error], checkTime func() error) (pieces []piece, err error) {
	listed, every := 0, 1
	for page, err := range pages {
		if err != nil {
			return nil, err
		}
		if listed > 0 {
			if err := checkTime(); err != nil {
				pieces[len(pieces)-1].n = 0
				return pieces, err
			}
		}
		for _, name := range page {
			if len(pieces) == mostPieces && listed%every == 0 {
				every *= 2
				for i := range mostPieces / 2 {
					pieces[i] = piece{from: pieces[2*i].from, n: every}
				}
				pieces = pieces[:mostPieces/2]
			}
			if listed%every == 0 {
				pieces = append(pieces, piece{from: name, n: every})
			}
			listed++
		}
	}
	if listed > 0 {
		pieces[len(pieces)-1].n = (listed-1)%every + 1
	}
	return pieces, nil
}

// pieces lists the names in the folder.
func (f Objects) pieces(ctx context.Context, p *cleanup.Planner, in objects.Names) ([]piece, error) {
	return sampled(objects.PagesOf(ctx, p.Objects, f.Folder, in, nil, func(o objects.Object) string { return o.Name }), p.CheckTime)
}

// pieces returns the pass whole: a run reads so many owners at most, wherever an earlier one got to.
func (c Documents) pieces(ctx context.Context, p *cleanup.Planner, _ objects.Names) ([]piece, error) {
	n, err := p.Documents.Count(ctx, documents.Query{Collection: c.Owners})
	return []piece{{n: min(n, maxOwners(p))}}, err
}

// place is a place in the order of all things: where a run stopped, or where a range begins or ends.
type place struct {
	Pass     int    `json:"pass"`               // index of the passes
	Name     string `json:"name"`               // an object's name or an owner's id
	Included bool   `json:"included,omitempty"` // Name itself is not planned yet

	// Owner is where the pass of documents begins, if the run begins before it: up to there, earlier runs have gone. A job has one
	// such pass at most.
	Owner string `json:"owner,omitempty"`
}

// names returns the names from a place on.
func (a place) names() objects.Names {
	return objects.Names{From: a.Name, After: a.Name != "" && !a.Included}
}

// placeOf parses the text of a place.
func placeOf(text string) (at place, ok bool) {
	err := json.Unmarshal([]byte(text), &at)
	return at, err == nil
}

func (a place) text() string {
	text, _ := json.Marshal(a) // texts and numbers
	return string(text)
}
