package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
	"github.com/firesweep/firesweep/shared/manifest"
)

// That a job is held is in its own record in the database, or in one for all jobs, which lists what they keep, too. Each run
// reads these first. So a job is held wherever it runs: deployed, at a terminal, or from another checkout whose rules nobody
// here knows.

// holding is which jobs are held and what is kept, or what of this a command changes. docs/command.md documents it as JSON.
type holding struct {
	Applied bool       `json:"applied"` // it was changed
	Jobs    []heldJob  `json:"jobs"`
	Keep    []keptItem `json:"keep"`
}

type heldJob struct {
	Job           string `json:"job"` // or all-jobs, or new-jobs: those that were not known when they were held
	Database      string `json:"database"`
	jobstate.Hold        // its time is zero: nobody holds the job
	Stops         string `json:"stops,omitempty"` // the run that --stop has told to stop
	Error         string `json:"error,omitempty"` // why nothing was changed, or why the job's record cannot be read

	until  time.Time // when the lease of what stops ends
	record jobstate.Record
	in     restore.Project
}

type keptItem struct {
	jobstate.Kept
	Database string `json:"database"`
}

// failed reports whether something was not changed.
func (h holding) failed() bool {
	return slices.ContainsFunc(h.Jobs, func(j heldJob) bool { return j.Error != "" })
}

// held returns those of the jobs that somebody holds.
func (h holding) held() []heldJob {
	return slices.DeleteFunc(slices.Clone(h.Jobs), func(j heldJob) bool { return j.At.IsZero() && j.Error == "" })
}

// holdFlags are the flags of hold and of resume.
type holdFlags struct {
	because        string
	stop, all, yes bool
	keep           []string
}

func (a *app) holdCommand() *cobra.Command {
	var f holdFlags
	c := &cobra.Command{
		Use:   "hold [JOB...]",
		Short: "Make jobs do nothing, or keep something; list what is held",
		Long: `Make jobs do nothing until 'firesweep resume', wherever they run, or with --keep
make all jobs keep something. Alone, it lists what is held and kept.
--all and --keep are for every job of the database, also for those to come.

PATH is a document, with all below it, or a collection (drafts/), a file or a
folder (gs://BUCKET/NAME, gs://BUCKET/FOLDER/), or an account ('account UID').
Cloud Tasks keeps the tasks of held workers. Your credentials need
roles/datastore.user, for the list roles/datastore.viewer.`,
		Example: `  firesweep hold --all --because "restoring the database"
  firesweep hold cleanupReports --stop
  firesweep hold --keep users/abc --keep 'account abc' --because "legal hold"`,
	}
	c.Flags().StringVar(&f.because, "because", "", "why, as `TEXT` for others; required without --stop")
	c.Flags().BoolVar(&f.stop, "stop", false, "have what is under way end within seconds, too")
	c.Flags().BoolVar(&f.all, "all", false, "hold all jobs")
	c.Flags().StringArrayVar(&f.keep, "keep", nil, "have all jobs keep what is at this `PATH`; may be repeated")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.RunE = func(c *cobra.Command, names []string) error {
		f.because = strings.TrimSpace(f.because)
		switch {
		case len(names) == 0 && asGiven(c, "because", "stop", "all", "keep", "yes") == "":
			return a.listHeld(c.Context())
		case len(f.keep) > 0 && (f.all || f.stop || len(names) > 0):
			return wrongUse("--keep is for every job: leave out the jobs, --all and --stop")
		case len(f.keep) == 0 && f.all == (len(names) > 0):
			return wrongUse("name the jobs, or give --all, or --keep PATH")
		case f.because == "" && !f.stop:
			return wrongUse("say why, for those who come after you: --because TEXT")
		case len(f.because) > jobstate.MaxWhy:
			return wrongUse("--because has %d bytes, and may have %d", len(f.because), jobstate.MaxWhy)
		}
		for _, path := range f.keep {
			if err := jobstate.CheckKept(path); err != nil {
				return wrongUse("--keep: %w", err)
			}
		}
		return a.hold(c, f, names)
	}
	return c
}

func (a *app) hold(c *cobra.Command, f holdFlags, names []string) error {
	h, err := a.holding(c.Context(), f.all || len(f.keep) > 0, names)
	if err != nil {
		return err
	}
	h.Keep = []keptItem{}
	if len(names) == 0 && !f.stop {
		h.Jobs = h.forAll()
	}
	if len(f.keep) > 0 {
		by := jobstate.Hold{At: a.clock().UTC(), By: who(), Why: f.because}
		var back []string
		for _, path := range f.keep {
			if err := a.mustBeThere(c.Context(), a.aside(f.yes), path); err != nil {
				return err
			}
			h.Keep = append(h.Keep, keptItem{Kept: jobstate.Kept{Path: path, Hold: by}})
			back = append(back, "--keep "+quoted(path))
		}
		kept := func(p *printer, _ []string) {
			p.Say("", 0, 2, "The jobs keep it, also one that is under way, within seconds. Let them judge it again:")
			p.Type("resume", back...)
		}
		return a.change(c, f.yes, nil, h, "Have all jobs keep this", kept, func(p restore.Project, _ *heldJob) error {
			return jobstate.Keep(c.Context(), p.DB, by, f.keep...)
		})
	}
	by := jobstate.Hold{At: a.clock().UTC(), By: who(), Why: cmp.Or(f.because, "somebody stopped it")}
	question := "Hold " + plural(len(h.Jobs), "job")
	steps := []func(restore.Project, *heldJob) error{func(p restore.Project, j *heldJob) error {
		if f.all && j.Job != jobstate.AllJobs {
			return nil
		}
		err := p.Store(j.Job).Hold(c.Context(), by)
		if err == nil && j.At.IsZero() {
			j.Hold = by
		}
		return err
	}}
	if f.all {
		question = "Hold all jobs"
	}
	if f.stop {
		question += ", and end what is under way"
		steps = append(steps, func(p restore.Project, j *heldJob) (err error) {
			j.Stops, j.until, err = p.Store(j.Job).Stop(c.Context())
			return err
		})
	}
	held := func(p *printer, jobs []string) {
		if f.all {
			jobs = []string{jobstate.AllJobs}
		}
		p.Say("", 0, 2, "Held. Let them run again:")
		p.Type("resume", jobs...)
	}
	return a.change(c, f.yes, names, h, question, held, steps...)
}

// mustBeThere refuses to keep what is not there. Who may not look for objects and accounts may keep them all the same.
func (a *app) mustBeThere(ctx context.Context, p *printer, path string) error {
	uid, isAccount := strings.CutPrefix(path, report.AccountPrefix)
	object, isObject := strings.CutPrefix(path, report.ObjectPrefix)
	var there bool
	var err error
	switch {
	case isAccount:
		there, err = a.accountThere(ctx, uid)
	case isObject:
		there, err = a.objectThere(ctx, object)
	default:
		there, err = a.documentThere(ctx, path)
	}
	switch {
	case err != nil && (!isAccount && !isObject || errors.As(err, new(usageError)) || ctx.Err() != nil):
		return err
	case err != nil:
		p.Say(yellow, 0, 2, "Nobody could look for %s, so make sure that it is spelt right: %s", path, err)
		return nil
	case there:
		return nil
	case isAccount:
		return wrongUse("--keep: there is no %s", path)
	case isObject:
		return wrongUse("--keep: there is no file %s: is it misspelt? A folder's name ends with a slash", path)
	}
	return wrongUse("--keep: there is no document %s and none below it: is it misspelt? If it is a file or a folder, write "+
		"gs://%s/%s", path, cmp.Or(a.getenv("STORAGE_BUCKET"), "BUCKET"), path)
}

func (a *app) accountThere(ctx context.Context, uid string) (bool, error) {
	_, o, err := a.openedFor(ctx, a.All[0], config.Firestore, config.Auth)
	if err != nil {
		return false, err
	}
	there, err := o.Accounts.Writer().Exist(ctx, []string{uid})
	return there[uid], err
}

// objectThere reports whether there is an object, or one in a folder. The bucket must be one that a job uses.
func (a *app) objectThere(ctx context.Context, path string) (bool, error) {
	bucket, name, _ := strings.Cut(path, "/")
	var used []string
	for _, e := range a.All {
		cfg, o, err := a.openedFor(ctx, e, config.Firestore, config.Storage)
		if err != nil {
			return false, err
		}
		if cfg.Bucket != bucket {
			used = append(used, cfg.Bucket)
			continue
		}
		first, err := o.Objects.Reader().First(ctx, name, false, 1) // of the names that begin so, the shortest is the first
		return len(first) > 0 && (first[0].Name == name || strings.HasSuffix(name, "/")), err
	}
	slices.Sort(used)
	return false, wrongUse("--keep: no job uses the bucket %s: they use %s", bucket, strings.Join(slices.Compact(used), ", "))
}

// documentThere reports whether a database has a document, or one below it.
func (a *app) documentThere(ctx context.Context, path string) (there bool, err error) {
	above, isAbove := strings.CutSuffix(path, "/")
	ref, noDocument := documents.RefOf(above)
	err = a.eachDatabase(ctx, func(on manifest.Entry) error {
		if there {
			return nil
		}
		p, err := a.reading(ctx, on)
		if err == nil && !isAbove {
			_, there, err = p.DB.Get(ctx, path)
		}
		switch {
		case err != nil || there:
		case noDocument == nil:
			var below []string
			below, err = p.DB.Collections(ctx, ref)
			there = len(below) > 0
		default:
			var some []documents.Ref
			some, err = p.DB.Listed(ctx, above, 1)
			there = len(some) > 0
		}
		return err
	})
	return there, err
}

func (a *app) resumeCommand() *cobra.Command {
	var f holdFlags
	c := &cobra.Command{
		Use:   "resume [JOB...]",
		Short: "Let jobs that are held run again, or judge again what they keep",
		Long: `Let held jobs run again, in every database, or with --keep let jobs judge again
what they keep; correct the rule or the data first.

JOB and PATH are as 'firesweep hold' lists them. resume all-jobs ends what hold
--all began, resume new-jobs what an undo began for jobs that are new. resume
--keep RUN, with the whole id, takes off the list what an undo of RUN put there.

Your credentials need roles/datastore.user.`,
		Example: `  firesweep resume cleanupReports
  firesweep resume --all
  firesweep resume --keep users/abc --keep 'account abc'`,
	}
	c.Flags().BoolVar(&f.all, "all", false, "every job that is held, also by hold --all or an undo")
	c.Flags().StringArrayVar(&f.keep, "keep", nil, "judge again what is at this `PATH`; may be repeated")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.RunE = func(c *cobra.Command, names []string) error {
		byName := len(names) > 0
		if f.all && byName || (f.all || byName) == (len(f.keep) > 0) {
			return wrongUse("name the jobs, or give --all, or --keep PATH: firesweep hold lists them")
		}
		return a.resume(c, f, names)
	}
	return c
}

func (a *app) resume(c *cobra.Command, f holdFlags, names []string) error {
	h, err := a.holding(c.Context(), f.all || len(f.keep) > 0, names)
	if err != nil {
		return err
	}
	if len(f.keep) > 0 {
		all, paths := h.Keep, []string{}
		h.Jobs, h.Keep = h.forAll(), nil
		for _, by := range f.keep {
			found := len(paths)
			for _, k := range all {
				if k.Path == by || k.RunID == by {
					h.Keep, paths = append(h.Keep, k), append(paths, k.Path)
				}
			}
			if found == len(paths) {
				return fmt.Errorf("no job keeps %s: see %s", by, a.cmd("hold"))
			}
		}
		judged := func(p *printer, _ []string) { p.Say("", 0, 2, "From their next run on, the jobs judge it again.") }
		return a.change(c, f.yes, nil, h, "Let the jobs judge this again", judged, func(p restore.Project, _ *heldJob) error {
			return jobstate.Unkeep(c.Context(), p.DB, paths...)
		})
	}
	h.Jobs, h.Keep = h.held(), []keptItem{}
	for _, name := range names {
		if !slices.ContainsFunc(h.Jobs, func(j heldJob) bool { return a.means(j.Job, name) }) {
			return fmt.Errorf("nobody holds %s by itself: see %s", name, a.cmd("hold"))
		}
	}
	if len(h.Jobs) == 0 {
		return a.show(h, func(p *printer) { p.Say("", 0, 2, "No job is held.") }, false)
	}
	resumed := func(p *printer, jobs []string) {
		p.Say("", 0, 2, "Resumed: %s. Deployed jobs run at their next time.", strings.Join(jobs, ", "))
	}
	question := "Let " + plural(len(h.Jobs), "job") + " run again"
	return a.change(c, f.yes, names, h, question, resumed, func(p restore.Project, j *heldJob) error {
		return p.Store(j.Job).Resume(c.Context())
	})
}

// forAll returns the records that are for all jobs of a database.
func (h holding) forAll() []heldJob {
	return slices.DeleteFunc(slices.Clone(h.Jobs), func(j heldJob) bool { return j.Job != jobstate.AllJobs })
}

// holding reads which jobs are held and what they keep: of all that have a record in a database, wherever they are declared, and
// of those that the application uses; or of jobs with these names.
func (a *app) holding(ctx context.Context, all bool, names []string) (h holding, err error) {
	h = holding{Jobs: []heldJob{}, Keep: []keptItem{}}
	defer a.progress(ctx, "reading the jobs' records").stop()
	err = a.eachDatabase(ctx, func(on manifest.Entry) error {
		p, err := a.reading(ctx, on)
		if err != nil {
			return err
		}
		records, err := jobstate.Records(ctx, p.DB.Reader)
		there := map[string]jobstate.Record{jobstate.AllJobs: {Job: jobstate.AllJobs}}
		for _, e := range a.All {
			cfg, wrong := a.settings(ctx, e, config.Firestore)
			uses := func(job manifest.Entry) bool { return job.Name == e.Name || job.Worker == e.Name }
			if cfg.Database == p.Config.Database && (len(names) > 0 || slices.ContainsFunc(a.used(), uses)) {
				there[e.Name] = jobstate.Record{Job: e.Name}
			}
			err = cmp.Or(err, wrong)
		}
		for _, r := range records {
			there[r.Job] = r
		}
		for _, job := range slices.Sorted(maps.Keys(there)) {
			r := there[job]
			j := heldJob{Job: job, Database: p.Config.Database, record: r, in: p}
			if job != jobstate.AllJobs {
				r.State = r.Heed(job, jobstate.State{Keep: r.Keep}, there[jobstate.NewJobs].State)
			}
			if r.Held != nil {
				j.Hold = *r.Held
			}
			if r.Err != nil {
				j.Error = r.Err.Error()
			}
			h.Jobs = append(h.Jobs, j)
			for _, one := range r.Keep {
				h.Keep = append(h.Keep, keptItem{one, p.Config.Database})
			}
		}
		return err
	})
	for _, name := range names {
		if !slices.ContainsFunc(h.Jobs, func(j heldJob) bool { return a.means(j.Job, name) }) {
			_, unknown := a.jobsNamed([]string{name})
			err = cmp.Or(err, unknown)
		}
	}
	if !all {
		h.Jobs = slices.DeleteFunc(h.Jobs, func(j heldJob) bool { return !a.means(j.Job, names...) })
	}
	return h, err
}

// means reports whether one of some names is that of a job, also in the lower case of its Cloud Run service, or of the one whose
// worker it is.
func (a *app) means(job string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == job || name == strings.ToLower(job) || slices.ContainsFunc(a.All, func(e manifest.Entry) bool {
			return e.Worker == job && (name == e.Name || name == strings.ToLower(e.Name))
		})
	})
}

func (a *app) listHeld(ctx context.Context) error {
	h, err := a.holding(ctx, true, nil)
	if err != nil {
		return err
	}
	h.Jobs = h.held()
	return a.show(h, func(p *printer) {
		p.holding(h)
		if len(h.Jobs)+len(h.Keep) == 0 {
			p.Say("", 0, 2, "No job is held, and nothing is kept.")
		}
		if len(h.Jobs) > 0 {
			p.Say("", 0, 2, "Let a job run again: %s", p.cmd("resume", "JOB"))
		}
		if len(h.Keep) > 0 {
			p.Say("", 0, 2, "Let the jobs judge something again: %s", p.cmd("resume", "--keep", "PATH"))
		}
	}, h.failed())
}

// change shows what a command is about, asks, and takes steps with each job: the next step when all have taken one. What fails
// keeps no other job from it. done says what was done to these jobs, and the way back.
func (a *app) change(c *cobra.Command, yes bool, names []string, h holding, question string, done func(p *printer, jobs []string),
	steps ...func(restore.Project, *heldJob) error,
) error {
	p, shown := a.aside(yes), h
	if len(h.Keep) > 0 { // by these jobs
		shown.Jobs = nil
	}
	p.holding(shown)
	agreed, err := a.agree(yes, c, names, question+" in "+p.where)
	if !agreed {
		return err
	}
	for _, step := range steps {
		each := func(project restore.Project) error {
			for i := range h.Jobs {
				if j := &h.Jobs[i]; j.Database == project.Config.Database && j.Error == "" && c.Context().Err() == nil {
					if wrong := step(project, j); wrong != nil {
						j.Error = wrong.Error()
					}
				}
			}
			return context.Cause(c.Context())
		}
		on := func(e manifest.Entry) error { return a.on(c.Context(), e, each, config.Firestore) }
		err = errors.Join(err, a.eachDatabase(c.Context(), on))
	}
	if err != nil {
		return err
	}
	h.Applied = true
	return a.show(h, func(p *printer) {
		changed := map[string]bool{}
		for _, j := range h.Jobs {
			if j.Error != "" {
				p.Say(red, 0, 2, "%s, database %s: %s", j.Job, j.Database, j.Error)
				continue
			}
			if changed[j.Job] = true; j.Stops != "" {
				p.Say("", 0, 2, "%s is told to stop, which takes seconds. If it was killed, its lease ends at %s UTC. See: %s", j.Stops,
					when(j.until), p.cmd("runs", j.Job))
			}
		}
		if len(changed) > 0 {
			done(p, slices.Sorted(maps.Keys(changed)))
		}
	}, h.failed())
}

// holding prints jobs, and things that jobs keep. Since when and why is said once of those that have it in common.
func (p *printer) holding(h holding) {
	said := ""
	list := func(verb string, hold jobstate.Hold, name, database string) {
		if text := verb + " " + hold.String() + ":"; text != said && !hold.At.IsZero() {
			p.Say("", 0, 2, "%s", text)
			said = text
		}
		p.Say("", 2, 2, "%s  %s", name, database)
	}
	for _, j := range h.Jobs {
		list("Held", j.Hold, j.Job, j.Database)
		if j.Error != "" {
			p.Say(red, 4, 2, "%s", j.Error)
		}
	}
	for _, k := range h.Keep[:min(len(h.Keep), listed)] {
		list("On the keep list", k.Hold, k.Path, k.Database)
	}
	if more := len(h.Keep) - listed; more > 0 {
		p.Say("", 2, 2, "and %s more: use --json", plural(more, "item"))
	}
	if len(h.Jobs)+len(h.Keep) > 0 {
		p.Line("")
	}
}

// heldWords says of a job that is held since when, by whom and why, and the way out.
func (p *printer) heldWords(held jobstate.Hold) string {
	return "held " + held.String() + ". It does nothing until " + p.cmd("resume", held.Record)
}
