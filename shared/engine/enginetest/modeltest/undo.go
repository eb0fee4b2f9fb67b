package modeltest

import (
	"maps"
	"slices"
	"strings"

	"firebase.google.com/go/v4/auth"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// things returns everything that a world holds, by the names that undo uses.
func (w World) things(bucket string) map[string]any {
	all := make(map[string]any, len(w.Documents)+len(w.Objects)+len(w.Accounts))
	for path, data := range w.Documents {
		all[path] = data
	}
	for name, metadata := range w.Objects {
		all["gs://"+bucket+"/"+name] = metadata
	}
	for uid, name := range w.Accounts {
		all["account "+uid] = name
	}
	return all
}

// put sets a thing of the world, or removes it if there is false.
func (w World) put(name, bucket string, value any, there bool) {
	switch object, isObject := strings.CutPrefix(name, "gs://"+bucket+"/"); {
	case isObject && there:
		w.Objects[object] = value.(map[string]string)
	case isObject:
		delete(w.Objects, object)
	case strings.HasPrefix(name, "account ") && there:
		w.Accounts[strings.TrimPrefix(name, "account ")] = value.(string)
	case strings.HasPrefix(name, "account "):
		delete(w.Accounts, strings.TrimPrefix(name, "account "))
	case there:
		w.Documents[name] = value.(map[string]any)
	default:
		delete(w.Documents, name)
	}
}

func same(a, b any) bool {
	return gocmp.Equal(a, b, sameReference, cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

// changed returns the names of what a step changed, in order, without what it sent.
func (r *round) changed(s step) []string {
	before, after := s.before.things(r.Bucket), s.after.things(r.Bucket)
	var names []string
	for _, name := range sortedKeys(merged(before, after)) {
		was, found := before[name]
		is, exists := after[name]
		if !r.sent[name] && (found != exists || !same(was, is)) {
			names = append(names, name)
		}
	}
	return names
}

func merged[V any](a, b map[string]V) map[string]V {
	all := make(map[string]V, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// fieldsChanged returns the names of the fields in which two documents differ, in order.
func fieldsChanged(a, b map[string]any) []string {
	var names []string
	for _, name := range sortedKeys(merged(a, b)) {
		if !same(field(a, name), field(b, name)) {
			names = append(names, name)
		}
	}
	return names
}

// somebody changes some of what a step changed, and returns the world after that. What was deleted is created again with
// other content. What was written is changed or deleted.
func (r *round) somebody(before, after World) World {
	w, here := after.Clone(), after.things(r.Bucket)
	var documents []string
	for _, name := range r.changed(step{before, after}) {
		if r.derived[name] || rapid.IntRange(0, 99).Draw(r.t, "somebody") >= r.percent {
			continue
		}
		is, exists := here[name]
		object, isObject := strings.CutPrefix(name, "gs://"+r.Bucket+"/")
		uid, isAccount := strings.CutPrefix(name, "account ")
		switch {
		case isObject:
			metadata := map[string]string{"by": "somebody"}
			r.Put(r.tb, object, metadata, []byte("somebody's"))
			w.put(name, r.Bucket, metadata, true)
		case isAccount:
			if _, err := r.Auth(r.tb).CreateUser(r.t.Context(), new(auth.UserToCreate).UID(uid).DisplayName("somebody")); err != nil {
				r.t.Fatal(err)
			}
			w.put(name, r.Bucket, "somebody", true)
		case !exists:
			w.Documents[name] = map[string]any{"by": "somebody"}
			documents = append(documents, name)
		default:
			data := maps.Clone(is.(map[string]any))
			fields := append(fieldsChanged(before.Documents[name], data), "by", "by")
			for _, field := range sortedKeys(data) { // add one that the job has not written
				if !slices.Contains(fields, field) {
					fields = append(fields, field)
					break
				}
			}
			switch field := rapid.SampledFrom(append(fields, "")).Draw(r.t, "field"); field {
			case "":
				delete(w.Documents, name)
				r.Delete(r.tb, name)
			default:
				data[field] = "somebody"
				w.Documents[name] = data
				documents = append(documents, name)
			}
		}
	}
	r.SetMany(r.tb, len(documents), func(i int) (string, map[string]any) { return documents[i], w.Documents[documents[i]] })
	return w
}

// undone returns the world after a step is undone. The targets for which chosen is true are as before the step, except those
// that somebody else changed since. These are added to conflicts.
func (r *round) undone(s step, now World, chosen func(string) bool, conflicts map[string]bool) World {
	w := now.Clone()
	before, after, here := s.before.things(r.Bucket), s.after.things(r.Bucket), now.things(r.Bucket)
	for _, name := range r.changed(s) {
		if !chosen(name) || r.restorer.Bucket == nil && strings.HasPrefix(name, "gs://") {
			continue
		}
		was, found := before[name]
		left, exists := after[name]
		is, there := here[name]
		_, isDocument := was.(map[string]any)
		switch {
		case there == found && same(is, was):
		case there == exists && same(is, left):
			w.put(name, r.Bucket, was, found)
		case found && exists && there && isDocument && (r.Whole == "" || !strings.HasPrefix(name, r.Whole+"/")):
			if data, ours := reverted(was.(map[string]any), left.(map[string]any), is.(map[string]any)); ours {
				w.Documents[name] = data
			} else {
				conflicts[name] = true
			}
		default:
			conflicts[name] = true
		}
	}
	return w
}

// reverted returns a document in which the fields that a run changed are as before. ours says that nobody else changed them
// since.
func reverted(before, after, now map[string]any) (data map[string]any, ours bool) {
	data, ours = maps.Clone(now), true
	for _, name := range fieldsChanged(before, after) {
		is := field(now, name)
		ours = ours && (same(is, field(after, name)) || same(is, field(before, name)))
		if data[name] = before[name]; field(before, name) == Missing {
			delete(data, name)
		}
	}
	return data, ours
}

// field returns a field's value, or [Missing].
func field(data map[string]any, name string) any {
	if v, there := data[name]; there {
		return v
	}
	return Missing
}

// undoAll undoes all runs, the latest first. Sometimes it undoes some targets before the others.
func (r *round) undoAll() {
	runs := enginetest.LoggedRuns(r.tb, r.Firestore(r.tb))
	var early []string
	if rapid.Bool().Draw(r.t, "some first") {
		for _, s := range r.steps {
			for _, name := range r.changed(s) {
				if !r.derived[name] && rapid.IntRange(0, 3).Draw(r.t, "only") == 0 {
					early = append(early, name)
				}
			}
		}
	}
	if len(early) > 0 {
		r.undo("some of it taken back", runs, early, nil)
	}
	r.undo("taken back", runs, nil, early)
}

// undo undoes runs: all targets, or only the given ones. It must report a conflict for each target that somebody changed, and
// for no other. Targets that were undone early may report one.
func (r *round) undo(when string, runs, only, early []string) {
	r.t.Helper()
	told, want := map[string]bool{}, map[string]bool{}
	for _, id := range runs {
		o := restore.Options{Only: only}
		if len(only) > 0 { // of this run
			of := r.undoOne(id, restore.Options{})
			o.Only = slices.DeleteFunc(slices.Clone(only), func(target string) bool { _, ok := of[target]; return !ok })
			if len(o.Only) == 0 {
				continue
			}
		}
		twice := rapid.IntRange(0, 3).Draw(r.t, "twice") == 0
		var foretold map[string]restore.Outcome
		if twice {
			foretold = r.undoOne(id, o)
		}
		o.Apply = true
		done := r.undoOne(id, o)
		if twice && !maps.Equal(foretold, done) {
			r.t.Fatalf("%s: %s", id, gocmp.Diff(foretold, done))
		}
		if twice {
			for _, outcome := range r.undoOne(id, o) {
				if !slices.Contains([]undo.Step{undo.Nothing, undo.Conflict, undo.Lost, undo.Stays}, outcome.Step) {
					r.t.Fatalf("%s a second time: %v", id, outcome)
				}
			}
		}
		for _, outcome := range done {
			if len(only) > 0 && !slices.Contains(only, outcome.Target) {
				r.t.Fatalf("%s: %v is not among what was to be taken back", id, outcome)
			}
			told[outcome.Target] = told[outcome.Target] || outcome.Step == undo.Conflict || outcome.Step == undo.Lost
		}
	}
	world := r.world
	for _, s := range slices.Backward(r.steps) {
		world = r.undone(s, world, func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }, want)
	}
	r.is(when, world)
	for _, name := range sortedKeys(merged(told, want)) {
		_, isObject := strings.CutPrefix(name, "gs://")
		if told[name] != want[name] && !slices.Contains(early, name) && (!isObject || !told[name] || !r.never(name)) {
			r.t.Fatalf("%s: %s is told to be changed by somebody: %t, want %t", when, name, told[name], want[name])
		}
	}
}

// never reports whether a thing did not exist before some step. Undo reports a conflict for an object that did not exist.
func (r *round) never(name string) bool {
	return slices.ContainsFunc(r.steps, func(s step) bool {
		_, was := s.before.things(r.Bucket)[name]
		return !was
	})
}

// undoOne undoes a run and returns what was done to each target. Several commits may have deleted the same object: the
// outcome of the first counts, because that one deleted it.
func (r *round) undoOne(runID string, o restore.Options) map[string]restore.Outcome {
	r.t.Helper()
	done := map[string]restore.Outcome{}
	o.WithoutReport = true // which runs of the worker do not leave
	err := r.restorer.Undo(r.t.Context(), runID, o, func(outcome restore.Outcome) error {
		if r.restorer.Bucket == nil && strings.HasPrefix(outcome.Why, "no bucket") {
			return nil
		}
		if was := done[outcome.Target].Step; was != undo.Recreate && (was == undo.Nothing || outcome.Step == undo.Recreate) {
			done[outcome.Target] = outcome
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}
