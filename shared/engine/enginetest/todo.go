package enginetest

import (
	"testing"

	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/runlog"
)

// SetTodo writes what a run of the function's job is said to have left to do, as it is stored: steps and items, well-formed or
// not.
func (f *Function) SetTodo(t testing.TB, name string, stored ...map[string]any) {
	t.Helper()
	left := map[string][]map[string]any{}
	for _, one := range stored {
		kind := "steps"
		if one["path"] != nil {
			kind = "next"
		}
		left[kind] = append(left[kind], one)
	}
	parts, err := runlog.Pack(left)
	if err != nil {
		t.Fatal(err)
	}
	f.Set(t, collections.Jobs+"/"+f.Job.Name+"/"+collections.Todo+"/"+name, map[string]any{
		"run": "r", "task": "", "attempt": 1, "at": documents.ServerTimestamp, "data": parts[0],
	})
}

// StepOf returns objects to delete, as they are stored, of an item that is gone.
func StepOf(rule, absent string, folder bool, ownerKey string, objects ...any) map[string]any {
	return map[string]any{
		"rule": rule, "absent": absent, "account": false, "objects": append([]any{}, objects...), "folder": folder,
		"ownerKey": ownerKey, "home": "",
	}
}

// AccountOf returns an account to delete, as it is stored, of an item that is gone.
func AccountOf(rule, absent string) map[string]any {
	step := StepOf(rule, absent, false, "")
	step["account"] = true
	return step
}

// ItemOf returns an item to judge next, as it is stored.
func ItemOf(rule, path string) map[string]any {
	return map[string]any{"rule": rule, "path": path}
}
