package orphans

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Split returns the function that divides what [Plan] goes through into ranges of about the same size.
func Split(passes ...Pass) func(ctx context.Context, p *sweep.Planner, n int) ([]sweep.Range, error) {
	return func(ctx context.Context, p *sweep.Planner, n int) ([]sweep.Range, error) {
		begin, _ := bounds(p, passes)
		var cuts []cut
		total := 0
		for i, pass := range passes[min(begin.Pass, len(passes)):] {
			if !wanted(p, pass) {
				continue
			}
			pieces, err := pass.pieces(ctx, p, n)
			if err != nil {
				return nil, err
			}
			for _, piece := range pieces {
				c := cut{place{Pass: begin.Pass + i, Name: piece.from, Included: piece.from != "", Owner: begin.Owner}, piece.n}
				switch {
				case i == 0 && piece.before != "" && piece.before <= begin.Name: // an earlier run has looked through it
					continue
				case c.at.before(begin): // or through some of it
					c.at = begin
				}
				cuts = append(cuts, c)
				total += piece.n
			}
		}
		return joined(cuts, total, min(n, total/leastShard))
	}
}

// cut is a place where a range may begin, and the number of things between it and the next cut.
type cut struct {
	at place
	n  int
}

// joined joins pieces to n ranges of about the same size.
func joined(cuts []cut, total, n int) (all []sweep.Range, err error) {
	if n < 2 {
		return nil, nil
	}
	before := 0
	for _, c := range cuts {
		// A range begins at the first piece that reaches into its part of the whole.
		if due := total * len(all) / n; before >= due && len(all) < n {
			text, err := c.at.text()
			if err != nil {
				return nil, err
			}
			if last := len(all) - 1; last >= 0 {
				all[last].End = text
			}
			all = append(all, sweep.Range{Begin: text})
		}
		before += c.n
	}
	return all, nil
}

// pieces divides the folder. If the bucket does not support offsets, the folder is one piece.
func (f Objects) pieces(ctx context.Context, p *sweep.Planner, shards int) ([]piece, error) {
	pieces, err := divide(ctx, f.Folder, shards, func(ctx context.Context, from, before string) (weight, error) {
		page, more, err := p.Objects.First(ctx, f.Folder, objects.Names{From: from, Before: before})
		if err != nil || !more || len(page) == 0 {
			return weight{n: len(page)}, err
		}
		return weightOfPage(max(from, f.Folder), page[0].Name, page[len(page)-1].Name, len(page)), nil
	})
	if errors.Is(err, objects.ErrNoOffsets) {
		return []piece{{}}, nil
	}
	return pieces, err
}

// pieces returns the pass whole: a run reads so many owners at most, wherever an earlier one got to.
func (c Documents) pieces(ctx context.Context, p *sweep.Planner, _ int) ([]piece, error) {
	n, err := p.Documents.Count(ctx, documents.Query{Collection: c.Owners})
	return []piece{{weight: weight{n: min(n, maxOwners(p))}}}, err
}

// place is a place in the order of all things: where a run stopped, or where a range begins or ends.
type place struct {
	Pass     int    `json:"target"`       // index of the passes
	Name     string `json:"after"`        // an object's name or an owner's id
	Included bool   `json:"at,omitempty"` // Name itself is not planned yet

	// Owner is where the pass of documents begins, if the run begins before it: up to there, earlier runs have gone. A job has one such
	// pass at most.
	Owner string `json:"owner,omitempty"`
}

// placeOf parses the text of a place.
func placeOf(text string) (at place, ok bool) {
	err := json.Unmarshal([]byte(text), &at)
	return at, err == nil
}

func (a place) text() (string, error) {
	text, err := json.Marshal(a)
	return string(text), err
}

// before reports whether a place comes before another.
func (a place) before(b place) bool {
	switch {
	case a.Pass != b.Pass:
		return a.Pass < b.Pass
	case a.Name != b.Name:
		return a.Name < b.Name
	}
	return a.Included && !b.Included
}
