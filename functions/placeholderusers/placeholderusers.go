// Package placeholderusers is cleanupPlaceholderUsers and its worker deletePlaceholderUser: users that an import made up and
// nobody claimed are deleted, unless something refers to them. The rules are in rules.go.
package placeholderusers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/tasks"
)

// Job is cleanupPlaceholderUsers.
var Job = cleanup.Job{Name: "cleanupPlaceholderUsers", Settings: settings, Rules: []cleanup.AnyRule{detailRule}, Plan: plan}

func init() {
	functions.Register(Job)
	functions.Register(Worker)
}

const (
	users   = "users"
	details = "import_placeholder_user_details"
)

// settings are those of the job and of its worker: the places in which users are referred to.
var settings config.Own[[]places.Place] = func(l *config.Loader) []places.Place {
	return config.Parsed(l, "PLACEHOLDER_REFERENCES", places.Default, places.Form, places.Parse)
}

// noPlaceWritten says that nobody ever wrote any of the places: users to whom something refers would seem to be referred to by
// nothing.
func noPlaceWritten(c config.Config) error {
	names := make([]string, len(settings.In(c)))
	for i, place := range settings.In(c) {
		names[i] = place.String()
	}
	text := fmt.Sprintf("no document has any of the fields %s: "+
		"make sure that they are spelt as your application writes them (PLACEHOLDER_REFERENCES, Terraform: placeholder_references), "+
		"and that database %s is the right one (FIRESTORE_DATABASE, Terraform: databases)", strings.Join(names, ", "), c.Database)
	return &cleanup.LimitError{Limit: "PLACEHOLDER_REFERENCES", Why: text}
}

// detailRule hands the user of a detail to the worker and then counts the attempt, in this order: an attempt whose task could
// not be enqueued does not count, and after a crash in between the same task is handed over again, which makes no second one.
var detailRule = cleanup.Rule[attempt]{
	Name: "detail", Reach: cleanup.Reach{Items: details, Writes: []string{details}}, Load: load, Judge: judge, Change: countAttempt,
}

// load reads the users of those details of which another attempt is due.
func load(ctx context.Context, src cleanup.Source, subjects []cleanup.Subject) ([]attempt, error) {
	all := make([]attempt, len(subjects))
	var due []documents.Ref
	for i, s := range subjects {
		all[i].Subject = s
		if judge(all[i], src.Run()).Kind != "" {
			due = append(due, userOf(s))
		}
	}
	found, err := src.Get(ctx, due)
	for i, s := range subjects {
		all[i].user, all[i].hasUser = found[userOf(s)]
	}
	return all, err
}

func userOf(detail cleanup.Subject) documents.Ref {
	id, _ := detail.IDIn(users, detail.Data["placeholder_user_id"])
	return documents.Ref{Collection: users, ID: id}
}

// finalAttempt is what is logged when the last attempt is made.
const finalAttempt = "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt."

// countAttempt hands over the task of the attempt that is due, then counts the attempt. Each task is due a second after the one
// before.
func countAttempt(detail attempt, _ cleanup.Decision, run cleanup.Run) cleanup.Change {
	attempts, _ := attemptsOf(detail.Subject)
	last, _ := detail.Time("last_deletion_attempt_at") // the zero time if there was none
	userID := userOf(detail.Subject).ID
	key := []string{detail.ID(), fmt.Sprint(attempts + 1), last.UTC().Format(time.RFC3339Nano)}
	if handedOver := strings.Join(key, " "); detail.From != handedOver {
		task := tasks.Task{Key: key, Body: map[string]string{"placeholder_user_id": userID}}
		then := []cleanup.FollowUp{{Task: &task, Apart: time.Second, Recorded: &cleanup.Recorded{}}}
		return cleanup.Change{Then: then, Again: true, From: handedOver}
	}
	c := cleanup.Update(detail.Ref(), map[string]any{"deletion_attempts": attempts + 1, "last_deletion_attempt_at": run.Now})
	if attempts+1 == maxAttempts {
		c.Notices = []cleanup.Notice{{Message: finalAttempt, Fields: map[string]any{"placeholder_user_id": userID}}}
	}
	return c
}

func plan(ctx context.Context, p *cleanup.Planner) error {
	q, some := unset(ctx, p, details, "namespace_id", keptNamespace)
	if !some {
		return nil
	}
	unwritten, err := places.Unwritten(ctx, p.Documents, settings.In(p.Config))
	if err != nil {
		return fmt.Errorf("look where users are referred to: %w", err)
	}
	if len(unwritten) == len(settings.In(p.Config)) {
		return noPlaceWritten(p.Config)
	}
	for _, place := range unwritten {
		const warning = "no document has the field %s of PLACEHOLDER_REFERENCES: is it spelt as your application writes it?"
		p.Warn(ctx, fmt.Sprintf(warning, place))
	}
	q.Select = []string{"namespace_id", "deletion_attempts", "last_deletion_attempt_at", "placeholder_user_id"}
	return p.Sweep(ctx, q, documents.Cursor(p.Checkpoint), detailRule)
}
