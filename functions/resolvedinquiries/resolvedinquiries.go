// Package resolvedinquiries is cleanupResolvedInquiries: six days after an inquiry was resolved it tells the user that the
// inquiry will be deleted, a day later it moves the inquiry and its messages to archivedInquiries and deletes their images.
//
// The rules are in rules.go, what is done in warn.go and archive.go; parts.go is for an inquiry whose archive does not fit
// in one document.
package resolvedinquiries

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/sweep"
)

// Job is cleanupResolvedInquiries.
var Job = sweep.Job{Name: "cleanupResolvedInquiries", Plan: plan}

func init() { functions.Register(Job) }

const (
	inquiries = "inquiries"
	archives  = "archivedInquiries"
)

// target is an inquiry that something is to be done to.
type target struct {
	id         string
	resolvedAt time.Time // as it was judged when planning; zero: not known
}

func (t target) path() string        { return inquiries + "/" + t.id }
func (t target) archivePath() string { return archives + "/" + t.id }

// How much is done at once: each archive takes a few MiB of memory at most.
const (
	maxArchives = 16
	maxArchive  = documents.MaxDocument - 48<<10 // bytes of an archive in one document; the rest is for what is not known of its size
	pageSize    = 100                            // inquiries held at once: what users wrote in their fields may be large
	batchBytes  = 1 << 20                        // bytes of the messages that are moved together, of an archive in parts
)

func plan(ctx context.Context, p *sweep.Planner) error {
	return planWith(ctx, p, archiver{maxArchive: maxArchive, batchBytes: batchBytes})
}

func planWith(ctx context.Context, p *sweep.Planner, a archiver) error {
	a.turns = semaphore.NewWeighted(maxArchives)
	if err := leftovers.Plan(ctx, p); err != nil {
		return err
	}
	begun, err := planBegun(ctx, p, a)
	if err != nil {
		return err
	}
	resolved := documents.Filter{Field: "status", Op: "==", Value: statusResolved}
	due := documents.Query{
		Collection: inquiries,
		Where:      []documents.Filter{resolved, {Field: "resolvedAt", Op: "<=", Value: warningCutoff(p.Now)}},
		OrderBy:    []string{"resolvedAt"},
		Select:     []string{"status", "resolvedAt", "userId", notifiedAt},
		PageSize:   pageSize,
	}
	p.CountKept(ctx, sweep.Census{
		Due: due, Eligible: []documents.Filter{resolved}, Young: documents.Filter{Field: "resolvedAt", Op: ">", Value: warningCutoff(p.Now)},
		KeptOther: keptUnresolved, KeptYoung: keptYoung, KeptUndated: keptUndated,
	})
	for page, err := range p.Documents.Pages(ctx, due, documents.Cursor(p.Position())) {
		if err != nil {
			return err
		}
		p.Scanned(len(page.Documents))
		for _, inquiry := range page.Documents {
			if err := propose(ctx, p, inquiry, begun, a); err != nil {
				return err
			}
		}
		if err := p.Mark(string(page.Next)); err != nil {
			return err
		}
	}
	return nil
}

func propose(ctx context.Context, p *sweep.Planner, inquiry documents.Document, begun map[string]bool, a archiver) error {
	t := target{id: inquiry.ID()}
	t.resolvedAt, _ = inquiry.Time("resolvedAt")
	switch verdict, reason := judge(inquiry, p.Now, p.PromiseFrom()); {
	case verdict == warn:
		return p.Propose(ctx, sweep.Action{
			Kind: "warn user", Target: inquiry.Path, Reason: reason,
			Effect: sweep.Steps(func(ctx context.Context, w *sweep.Writers) error { return warnUser(ctx, w, t) }),
		})
	case verdict == archive && begun[t.id]:
		return nil // planBegun has proposed it, and actions must not depend on each other
	case verdict == archive:
		if p.DryRun() {
			with, err := previewImages(ctx, p, inquiry.Path)
			if err != nil {
				return err
			}
			reason += with
		}
		return p.Propose(ctx, sweep.Action{
			Kind: "archive and delete inquiry", Target: inquiry.Path, Reason: reason,
			Effect: a.effect(t, a.archiveAndDelete),
		})
	case verdict == keepDoubtful:
		p.KeepDoubtful(ctx, inquiry.Path, reason, 1)
	default:
		p.Keep(reason, 1)
	}
	return nil
}

// planBegun proposes to finish the archives in parts that interrupted runs have begun, and returns their ids.
func planBegun(ctx context.Context, p *sweep.Planner, a archiver) (map[string]bool, error) {
	begun := map[string]bool{}
	for page, err := range p.Documents.Pages(ctx, documents.Query{Collection: records(p.Job), Select: []string{archived}}, "") {
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			t := target{id: d.ID()}
			begun[t.id] = true
			err := p.Propose(ctx, sweep.Action{
				Kind: "finish archive", Target: t.archivePath(), Reason: "a run that did not finish it has begun it",
				Effect: a.effect(t, a.resume),
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return begun, nil
}
