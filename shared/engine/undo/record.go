// Package undo says how a run is taken back, from what the undo log tells of it: each document that the run deleted or changed as
// it was before, and the names of the objects and accounts that it deleted.
//
// A [Record] says what was done to one thing. [Net] says what the records of one document come to, and [Change.Decide] what is
// to be done to take it back. Package runlog stores records.
package undo

import (
	"fmt"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

// HolderPrefix precedes the id of the run that is taken back, in the lease that an undo holds.
const HolderPrefix = "undo-"

// Fields are a document's fields as Firestore's API has them.
type Fields = map[string]*firestorepb.Value

// Record is one thing that a run deleted or wrote, or an item that it judged for that: one of Item, Write, Object and Account.
type Record struct {
	Item           string // as the job's plan names its target
	Action, Reason string // of the item: what the run did to it, and why
	// Of is the place in the entry, from 1, of the item that the record belongs to; 0 of an item, and of what belongs to none.
	Of      int
	Write   *Write
	Object  *Object
	Account *Account
}

// ItemOf returns the item that a record of an entry belongs to, by the record's index; empty if to none.
func ItemOf(entry []Record, index int) string {
	if of := entry[index].Of; of > 0 {
		return entry[of-1].Item
	}
	return ""
}

// Deletes reports whether a record tells of a deletion.
func (r Record) Deletes() bool {
	return r.Object != nil || r.Account != nil || r.Write != nil && r.Write.Op == documents.Delete && r.Write.Found
}

// ClocksApart is more than the clocks of Firestore, Cloud Storage and Authentication differ by.
const ClocksApart = 10 * time.Second

// Write is one write of a commit.
type Write struct {
	Op      documents.Op
	Path    string
	Found   bool     // there was a document before
	Before  Fields   // as it was; all of it
	After   Fields   // of a create or set, the whole document; of an update, the fields that it wrote
	Removed []string // fields that an update removed
	// Sent says that the write told somebody something, as a notification or an e-mail does. It is not taken back.
	Sent bool
}

// Object is an object that was deleted.
type Object struct {
	Name       string
	Generation int64
}

// Account is an account that was deleted.
type Account struct {
	UID  string
	Data string // what Authentication told of it, as accounts.Account.JSON has it
}

// Of returns the record of a write. before is the document that there was, if found. An error says which field cannot be kept.
func Of(w documents.Write, before documents.Document, found bool) (Record, error) {
	r := Write{Op: w.Op, Path: w.Ref.Path(), Found: found, Sent: w.Sent}
	var err error
	if found {
		if r.Before, err = encode.Fields(before.Data); err != nil {
			return Record{}, fmt.Errorf("save %s to the undo log: %w", w.Ref, err)
		}
	}
	after := make(map[string]any, len(w.Data))
	for field, v := range w.Data {
		if w.Op == documents.Update && v == documents.DeleteField {
			r.Removed = append(r.Removed, field)
			continue
		}
		after[field] = v
	}
	if r.After, err = encode.Fields(after); err != nil {
		return Record{}, fmt.Errorf("save what is written to %s to the undo log: %w", w.Ref, err)
	}
	return Record{Write: &r}, nil
}
