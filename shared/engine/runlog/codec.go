package runlog

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/undo"
)

// MaxPart is how many bytes of what is stored one document holds. A document of Firestore has at most 1 MiB, its name and other
// fields included.
const MaxPart = 900 << 10

// maxPlain bounds what one commit leaves, in bytes as it is read: a broken document must not fill the memory.
const maxPlain = 64 << 20

// Pack returns what a commit leaves in parts, each for a document: it is compressed JSON.
func Pack(left any) ([][]byte, error) {
	plain, err := json.Marshal(left)
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
		return nil, fmt.Errorf("pack what a commit leaves: %w", err)
	}
	var parts [][]byte
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), MaxPart)
		parts, rest = append(parts, rest[:n:n]), rest[n:]
	}
	return parts, nil
}

// errDamaged says that what is stored is not what [Pack] made.
var errDamaged = errors.New("it is damaged, or a later version of this program wrote it")

// unpack reads what [Pack] packed, from all of its parts in their order. What this version does not know, it does not read.
func unpack(parts [][]byte, into any) error {
	z, err := gzip.NewReader(bytes.NewReader(bytes.Join(parts, nil)))
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if err == nil && len(plain) > maxPlain {
		err = fmt.Errorf("more than %d bytes", maxPlain)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(plain))
		d.DisallowUnknownFields()
		err = d.Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// Unpack returns the records of one commit from their parts. An error says that they are not whole.
func Unpack(parts [][]byte) (records []undo.Record, err error) {
	if err := unpack(parts, &records); err != nil {
		return nil, err
	}
	for i, r := range records {
		if !r.Valid() {
			return nil, fmt.Errorf("%w: record %d is none", errDamaged, i+1)
		}
		if r.Of < 0 || r.Of > len(records) || r.Of > 0 && records[r.Of-1].Item == "" {
			return nil, fmt.Errorf("%w: record %d belongs to record %d, which is no item", errDamaged, i+1, r.Of)
		}
	}
	return records, nil
}
