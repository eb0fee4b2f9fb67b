// Package undo holds the undo log, by which a run can be taken back: each document that it deleted or changed as it was before,
// and the names of the objects and accounts that it deleted.
//
// A [Record] says what was done to one thing. Records are kept in entries, cleanupRuns/{run}/cleanupUndo/{n}, of at most [MaxEntry]
// bytes. [Net] says what the records of one document come to, and [Change.Decide] what is to be done to take it back.
package undo

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/digest"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

// MaxEntry is how many bytes of records one entry holds. A document of Firestore has at most 1 MiB, its name and other fields
// included.
const MaxEntry = 900 << 10

// Collection returns the collection of a run's entries. Its last part is the group that the TTL policy is for, so it is a name that
// no application has.
func Collection(runID string) string { return "cleanupRuns/" + runID + "/cleanupUndo" }

// EntryOf returns the name of part i of a run's entry n.
func EntryOf(runID string, n, i int) documents.Ref {
	return documents.Ref{Collection: Collection(runID), ID: fmt.Sprintf("%06d-%02d", n, i)}
}

// ShardEntryOf is [EntryOf] for one of the runs that work on the parts of another, whose log they share.
func ShardEntryOf(runID, shardRun string, n, i int) documents.Ref {
	return documents.Ref{Collection: Collection(runID), ID: fmt.Sprintf("%s.%06d-%02d", digest.Of(shardRun)[:16], n, i)}
}

// maxRecords bounds what the records of one commit take when they are read, in bytes: a broken entry must not fill the memory.
const maxRecords = 64 << 20

// Fields are a document's fields as Firestore's API has them.
type Fields = map[string]*firestorepb.Value

// Record is one thing that a run deleted or wrote, or an item that it judged for that: one of Item, Write, Object, Account and
// Stayed.
type Record struct {
	Item           string // as the job's plan names its target; if what was done to it is taken back, it is held
	Action, Reason string // of the item: what the run did to it, and why
	Write          *Write
	Object         *Object
	Account        *Account
	// Stayed is a document's path, or "object" and a name: it changed before the deletion that an earlier entry tells of, which was
	// therefore not made.
	Stayed string
}

// StayedObject precedes the name of an object in [Record.Stayed].
const StayedObject = "object "

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

// Object is an object that was deleted, or was to be after a commit.
type Object struct {
	Name       string // ends with a slash for a folder
	Generation int64  // 0 if it was not known when the record was made: then the one that was live at that moment
	Folder     bool   // all objects whose name begins so
	// OwnerKey and Owner, if set: objects whose metadata names another owner were kept.
	OwnerKey, Owner string
}

// Account is an account that was deleted, or was to be.
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
			return Record{}, fmt.Errorf("save %s to the undo log: %w", r.Path, err)
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
		return Record{}, fmt.Errorf("save what is written to %s to the undo log: %w", r.Path, err)
	}
	return Record{Write: &r}, nil
}

// Pack returns the entries that hold the records of one commit, compressed, in their order. [Unpack] needs all of them.
func Pack(records []Record) ([][]byte, error) {
	var all firestorepb.ArrayValue
	for _, r := range records {
		all.Values = append(all.Values, mapValue(r.fields()))
	}
	plain, err := proto.Marshal(&all)
	if err == nil && len(plain) > maxRecords { // nobody could read them again; fewer items a commit have less
		err = documents.ErrTooMuch
	}
	if err != nil {
		return nil, fmt.Errorf("pack %d records: %w", len(records), err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		return nil, fmt.Errorf("pack %d records: %w", len(records), err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack %d records: %w", len(records), err)
	}
	var entries [][]byte
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), MaxEntry)
		entries, rest = append(entries, rest[:n:n]), rest[n:]
	}
	return entries, nil
}

// errDamaged says that entries are not what [Pack] made.
var errDamaged = errors.New("the undo log is damaged, or a later version of this program wrote it")

// Unpack returns the records of one commit's entries, which are in their order. An error says that they are not whole.
func Unpack(entries [][]byte) ([]Record, error) {
	z, err := gzip.NewReader(bytes.NewReader(bytes.Join(entries, nil)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxRecords+1))
	if err == nil && len(plain) > maxRecords {
		err = fmt.Errorf("more than %d bytes", maxRecords)
	}
	var all firestorepb.ArrayValue
	if err == nil {
		err = proto.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	records := make([]Record, len(all.GetValues()))
	for i, v := range all.GetValues() {
		var ok bool
		if records[i], ok = recordOf(v.GetMapValue().GetFields()); !ok {
			return nil, fmt.Errorf("%w: record %d is empty", errDamaged, i+1)
		}
	}
	return records, nil
}

// The names of what a record holds.
const (
	opKey, pathKey, foundKey, beforeKey, afterKey, removedKey, sentKey = "op", "path", "found", "before", "after", "removed", "sent"
	objectKey, generationKey, folderKey, ownerKeyKey, ownerKey         = "object", "generation", "folder", "ownerKey", "owner"
	accountKey, dataKey                                                = "account", "data"
	itemKey, actionKey, reasonKey, stayedKey                           = "item", "action", "reason", "stayed"
)

func (r Record) fields() Fields {
	switch {
	case r.Write != nil:
		w := r.Write
		removed := &firestorepb.ArrayValue{}
		for _, field := range w.Removed {
			removed.Values = append(removed.Values, text(field))
		}
		return Fields{
			opKey: text(string(w.Op)), pathKey: text(w.Path), foundKey: truth(w.Found), sentKey: truth(w.Sent),
			beforeKey: mapValue(w.Before), afterKey: mapValue(w.After),
			removedKey: {ValueType: &firestorepb.Value_ArrayValue{ArrayValue: removed}},
		}
	case r.Object != nil:
		o := r.Object
		return Fields{
			objectKey: text(o.Name), folderKey: truth(o.Folder), ownerKeyKey: text(o.OwnerKey), ownerKey: text(o.Owner),
			generationKey: {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: o.Generation}},
		}
	case r.Account != nil:
		return Fields{accountKey: text(r.Account.UID), dataKey: text(r.Account.Data)}
	case r.Stayed != "":
		return Fields{stayedKey: text(r.Stayed)}
	}
	return Fields{itemKey: text(r.Item), actionKey: text(r.Action), reasonKey: text(r.Reason)}
}

// recordOf reads what [Record.fields] made.
func recordOf(f Fields) (Record, bool) {
	switch {
	case f[opKey] != nil:
		w := Write{
			Op: documents.Op(f[opKey].GetStringValue()), Path: f[pathKey].GetStringValue(), Found: f[foundKey].GetBooleanValue(),
			Sent: f[sentKey].GetBooleanValue(), Before: f[beforeKey].GetMapValue().GetFields(), After: f[afterKey].GetMapValue().GetFields(),
		}
		for _, v := range f[removedKey].GetArrayValue().GetValues() {
			w.Removed = append(w.Removed, v.GetStringValue())
		}
		_, err := documents.RefOf(w.Path)
		known := w.Op == documents.Delete || w.Op == documents.Update || w.Op == documents.Create || w.Op == documents.Set
		return Record{Write: &w}, err == nil && known
	case f[objectKey] != nil:
		o := Object{
			Name: f[objectKey].GetStringValue(), Generation: f[generationKey].GetIntegerValue(), Folder: f[folderKey].GetBooleanValue(),
			OwnerKey: f[ownerKeyKey].GetStringValue(), Owner: f[ownerKey].GetStringValue(),
		}
		return Record{Object: &o}, o.Name != ""
	case f[accountKey] != nil:
		a := Account{UID: f[accountKey].GetStringValue(), Data: f[dataKey].GetStringValue()}
		return Record{Account: &a}, a.UID != ""
	case f[stayedKey] != nil:
		stayed := f[stayedKey].GetStringValue()
		return Record{Stayed: stayed}, stayed != ""
	}
	item := Record{Item: f[itemKey].GetStringValue(), Action: f[actionKey].GetStringValue(), Reason: f[reasonKey].GetStringValue()}
	return item, item.Item != ""
}

func text(v string) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
}

func truth(v bool) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_BooleanValue{BooleanValue: v}}
}

func mapValue(fields Fields) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: fields}}}
}
