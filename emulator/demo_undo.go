package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/scripts/screen"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// takenBack is the job whose run the demo takes back. It deletes documents and files, changes fields, and notifies people.
const takenBack = "checkGhostCircles"

// rewind is a run to take back, with the project before and after it.
type rewind struct {
	job           manifest.Entry
	runID         string
	before, after sampledata.State
}

// show takes the run back, makes sure that everything it deleted or changed is as it was, and runs the job once more.
func (r rewind) show(
	ctx context.Context, out *screen.Printer, l *local, project *sampledata.Project, now time.Time,
) (err error) {
	cfg, err := config.Load(config.For(r.job.Name, demoEnvironment), functions.Registered()[r.job.Name].Settings, r.job.Uses()...)
	if err != nil {
		return err
	}
	p, closeAll, err := restore.Hooks{}.Open(ctx, cfg, r.job.Uses(), time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	p.Jobs = functions.Registered()
	steps := map[undo.Step]int{}
	err = p.Undo(ctx, r.runID, restore.Options{Apply: true}, func(o restore.Outcome) error {
		steps[o.Step]++
		return nil
	})
	if err != nil {
		return err
	}
	out.Line("")
	out.Say(screen.Bold, 0, 2, "And the run of %s taken back, as with the command", r.job.Name)
	out.Command("firesweep undo --apply %s", r.runID)
	out.Say("", 2, 2, "%d documents and files are back, %d changes are reverted; %d notifications stay sent",
		steps[undo.Recreate], steps[undo.Revert]+steps[undo.Replace]+steps[undo.Remove], steps[undo.Stays])
	is, err := project.Read(ctx)
	if err != nil {
		return err
	}
	missing, compared := r.missing(is)
	if len(missing) > 0 || compared == 0 || steps[undo.Conflict]+steps[undo.Lost] > 0 {
		return fmt.Errorf("of the %d things that %s had deleted or changed, these are not as they were: %s",
			compared, r.job.Name, strings.Join(missing, ", "))
	}
	out.Say("", 2, 2, "all %d that it had deleted or changed are as they were before the run", compared)
	rep, err := l.post(ctx, r.job, now, "")
	if err != nil {
		return err
	}
	done, held := rep.Done(), rep.Kept[undo.KeptPinned]
	out.Say("", 2, 2, "run again, %s: %d done, %d kept because they came back", rep.Status, done, held)
	if rep.Status != report.Completed || done > 0 || held == 0 {
		return fmt.Errorf("%s must keep what came back", r.job.Name)
	}
	return nil
}

// missing returns those things that the run deleted or changed and that are not as they were before it, and how many were
// compared.
func (r rewind) missing(now sampledata.State) (names []string, compared int) {
	was, left, is := r.before.Names(""), r.after.Names(""), now.Names("")
	for name, fields := range was {
		same := func(in map[string]any) bool {
			other, there := in[name]
			return there && reflect.DeepEqual(fields, other)
		}
		if same(left) {
			continue
		}
		if compared++; !same(is) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, compared
}
