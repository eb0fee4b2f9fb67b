package enginetest

import (
	"strings"
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

// StepOf returns an object to delete, or a folder of them, as it is stored, of an item that is gone.
func StepOf(rule, absent, name, ownerKey string) map[string]any {
	object := map[string]any{"name": name, "folder": strings.HasSuffix(name, "/"), "ownerKey": ownerKey, "home": ""}
	return map[string]any{"rule": rule, "absent": absent, "object": object}
}

// AccountOf returns an account to delete, as it is stored, of an item that is gone.
func AccountOf(rule, absent string) map[string]any {
	return map[string]any{"rule": rule, "absent": absent, "account": true}
}

// ItemOf returns an item to judge next, as it is stored.
func ItemOf(rule, path string) map[string]any {
	return map[string]any{"rule": rule, "path": path}
}
