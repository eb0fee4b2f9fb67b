// Package undo says how a run is taken back, from what the undo log tells of it: each document that the run deleted or changed as
// it was before, and the names of the objects and accounts that it deleted.
//
// A [Record] says what was done to one thing. [Net] says what the records of one document come to, and [Change.Decide] what is
// to be done to take it back. Package runlog stores records.
package undo

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

// HolderPrefix precedes the id of the run that is taken back, in the lease that an undo holds.
const HolderPrefix = "undo-"

// Fields are a document's fields as Firestore's API has them. As JSON, they are its bytes.
type Fields map[string]*firestorepb.Value

// MarshalJSON implements [json.Marshaler].
func (f Fields) MarshalJSON() ([]byte, error) {
	stored, err := proto.Marshal(&firestorepb.MapValue{Fields: f})
	if err != nil {
		return nil, err
	}
	return json.Marshal(stored)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Fields) UnmarshalJSON(text []byte) error {
	var stored []byte
	var all firestorepb.MapValue
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	err := proto.Unmarshal(stored, &all)
	*f = all.GetFields()
	return err
}

// Record is one thing that a run deleted or wrote, or an item that it judged for that: one of Item, Write, Object and Account.
type Record struct {
	Item   string `json:"item,omitempty"`   // as the job's plan names its target
	Action string `json:"action,omitempty"` // of the item: what the run did to it
	Reason string `json:"reason,omitempty"` // and why
	After  string `json:"after,omitempty"`  // the item that led to it, which the run judged first; empty: none did
	// Of is the place in the entry, from 1, of the item that the record belongs to; 0 of an item, and of what belongs to none.
	Of      int      `json:"of,omitempty"`
	Write   *Write   `json:"write,omitempty"`
	Object  *Object  `json:"object,omitempty"`
	Account *Account `json:"account,omitempty"`
}

// ItemOf returns the item that a record of an entry belongs to, by the record's index; empty if to none.
func ItemOf(entry []Record, index int) string {
	if of := entry[index].Of; of > 0 {
		return entry[of-1].Item
	}
	return ""
}

// Valid reports whether a record is one that a run can have left: one thing alone, with a name.
func (r Record) Valid() bool {
	switch w := r.Write; {
	case w != nil:
		_, err := documents.RefOf(w.Path)
		known := slices.Contains([]documents.Op{documents.Delete, documents.Update, documents.Create, documents.Set}, w.Op)
		return err == nil && known && r.Item == "" && r.Object == nil && r.Account == nil
	case r.Object != nil:
		return r.Object.Name != "" && r.Object.Generation > 0 && r.Item == "" && r.Account == nil
	case r.Account != nil:
		return r.Account.UID != "" && r.Item == ""
	}
	return r.Item != "" && r.Of == 0
}

// Deletes reports whether a record tells of a deletion.
func (r Record) Deletes() bool {
	return r.Object != nil || r.Account != nil || r.Write != nil && r.Write.Op == documents.Delete && r.Write.Found
}

// ClocksApart is more than the clocks of Firestore, Cloud Storage and Authentication differ by.
const ClocksApart = 10 * time.Second

// Write is one write of a commit.
type Write struct {
	Op      documents.Op `json:"op"`
	Path    string       `json:"path"`
	Found   bool         `json:"found,omitempty"`   // there was a document before
	Before  Fields       `json:"before,omitempty"`  // as it was; all of it
	After   Fields       `json:"after,omitempty"`   // of a create or set, the whole document; of an update, the fields that it wrote
	Removed []string     `json:"removed,omitempty"` // fields that an update removed
	// Sent says that the write told somebody something, as a notification or an e-mail does. It is not taken back.
	Sent bool `json:"sent,omitempty"`
}

// Object is an object that was deleted.
type Object struct {
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

// Account is an account that was deleted.
type Account struct {
	UID  string `json:"uid"`
	Data string `json:"data"` // what Authentication told of it, as accounts.Account.JSON has it
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
