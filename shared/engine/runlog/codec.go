package runlog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// MaxPart is how many bytes of what is stored one document holds. A document of Firestore has at most 1 MiB, its name and other
// fields included.
const MaxPart = 900 << 10

// maxPlain bounds what one commit leaves, in bytes as it is read: a broken document must not fill the memory.
const maxPlain = 64 << 20

// Pack returns the records of one commit in parts, each for a document. [Unpack] needs all of them.
func Pack(records []undo.Record) ([][]byte, error) {
	all := make([]undo.Fields, len(records))
	for i, r := range records {
		all[i] = fieldsOf(r)
	}
	return PackFields(all)
}

// Unpack returns the records of one commit from their parts, which are in their order. An error says that they are not whole.
func Unpack(parts [][]byte) ([]undo.Record, error) {
	all, err := UnpackFields(parts)
	if err != nil {
		return nil, err
	}
	records := make([]undo.Record, len(all))
	for i, f := range all {
		var ok bool
		if records[i], ok = recordOf(f); !ok {
			return nil, fmt.Errorf("%w: record %d is empty", errDamaged, i+1)
		}
	}
	for i, r := range records {
		if r.Of < 0 || r.Of > len(records) || r.Of > 0 && records[r.Of-1].Item == "" {
			return nil, fmt.Errorf("%w: record %d belongs to record %d, which is no item", errDamaged, i+1, r.Of)
		}
	}
	return records, nil
}

// PackFields is [Pack] for whatever the log holds: it is compressed, in its order.
func PackFields(stored []undo.Fields) ([][]byte, error) {
	var all firestorepb.ArrayValue
	for _, f := range stored {
		all.Values = append(all.Values, mapValue(f))
	}
	plain, err := proto.Marshal(&all)
	if err == nil && len(plain) > maxPlain { // nobody could read it again; fewer items a commit have less
		err = documents.ErrTooMuch
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err == nil {
		_, err = z.Write(plain)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("pack %d records: %w", len(stored), err)
	}
	var parts [][]byte
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), MaxPart)
		parts, rest = append(parts, rest[:n:n]), rest[n:]
	}
	return parts, nil
}

// errDamaged says that what is stored is not what [PackFields] made.
var errDamaged = errors.New("it is damaged, or a later version of this program wrote it")

// UnpackFields returns what [PackFields] packed.
func UnpackFields(parts [][]byte) ([]undo.Fields, error) {
	z, err := gzip.NewReader(bytes.NewReader(bytes.Join(parts, nil)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if err == nil && len(plain) > maxPlain {
		err = fmt.Errorf("more than %d bytes", maxPlain)
	}
	var all firestorepb.ArrayValue
	if err == nil {
		err = proto.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	stored := make([]undo.Fields, len(all.GetValues()))
	for i, v := range all.GetValues() {
		stored[i] = v.GetMapValue().GetFields()
	}
	return stored, nil
}

// The names of what a record holds.
const (
	opKey, pathKey, foundKey, beforeKey, afterKey, removedKey, sentKey = "op", "path", "found", "before", "after", "removed", "sent"
	objectKey, generationKey                                           = "object", "generation"
	accountKey, dataKey                                                = "account", "data"
	itemKey, actionKey, reasonKey, ofKey                               = "item", "action", "reason", "of"
)

func fieldsOf(r undo.Record) undo.Fields {
	switch {
	case r.Write != nil:
		w := r.Write
		return encoded(map[string]any{
			opKey: string(w.Op), pathKey: w.Path, foundKey: w.Found, sentKey: w.Sent, beforeKey: w.Before, afterKey: w.After,
			removedKey: w.Removed, ofKey: r.Of,
		})
	case r.Object != nil:
		return encoded(map[string]any{objectKey: r.Object.Name, generationKey: r.Object.Generation, ofKey: r.Of})
	case r.Account != nil:
		return encoded(map[string]any{accountKey: r.Account.UID, dataKey: r.Account.Data, ofKey: r.Of})
	}
	return encoded(map[string]any{itemKey: r.Item, actionKey: r.Action, reasonKey: r.Reason})
}

// recordOf reads what [fieldsOf] made.
func recordOf(f undo.Fields) (undo.Record, bool) {
	of := int(f[ofKey].GetIntegerValue())
	switch {
	case f[opKey] != nil:
		w := undo.Write{
			Op: documents.Op(f[opKey].GetStringValue()), Path: f[pathKey].GetStringValue(), Found: f[foundKey].GetBooleanValue(),
			Sent: f[sentKey].GetBooleanValue(), Before: f[beforeKey].GetMapValue().GetFields(), After: f[afterKey].GetMapValue().GetFields(),
		}
		for _, v := range f[removedKey].GetArrayValue().GetValues() {
			w.Removed = append(w.Removed, v.GetStringValue())
		}
		_, err := documents.RefOf(w.Path)
		known := w.Op == documents.Delete || w.Op == documents.Update || w.Op == documents.Create || w.Op == documents.Set
		return undo.Record{Write: &w, Of: of}, err == nil && known
	case f[objectKey] != nil:
		o := undo.Object{Name: f[objectKey].GetStringValue(), Generation: f[generationKey].GetIntegerValue()}
		return undo.Record{Object: &o, Of: of}, o.Name != "" && o.Generation > 0
	case f[accountKey] != nil:
		a := undo.Account{UID: f[accountKey].GetStringValue(), Data: f[dataKey].GetStringValue()}
		return undo.Record{Account: &a, Of: of}, a.UID != ""
	}
	item := undo.Record{Item: f[itemKey].GetStringValue(), Action: f[actionKey].GetStringValue(), Reason: f[reasonKey].GetStringValue()}
	return item, item.Item != ""
}

// encoded returns texts, numbers, truth values and fields as they are stored.
func encoded(values map[string]any) undo.Fields {
	fields, _ := encode.Fields(values) // it can encode all of these
	return fields
}

func mapValue(fields undo.Fields) *firestorepb.Value {
	return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: fields}}}
}
