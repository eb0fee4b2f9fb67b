package expiredcomped

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// ObjectID returns an id in the form of a MongoDB ObjectID, which platforms that came from MongoDB expect: 24 hexadecimal
// digits, the first eight of which are the Unix seconds of at. The others are not random but a digest of causes, in their
// order: the facts that the document rests on. So one cause makes one document, however often its commit is sent.
func ObjectID(at time.Time, causes ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(causes, "\x00")))
	id := binary.BigEndian.AppendUint32(nil, uint32(at.Unix())) // the format ends in 2106
	return hex.EncodeToString(append(id, digest[:8]...))
}
