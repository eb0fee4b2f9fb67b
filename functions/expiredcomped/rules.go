package expiredcomped

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// The collections and fields of the membership platform that the job works on.
const (
	subscriptions = "members_products" // one row for each product that a member has
	members       = "members"
	statusEvents  = "members_status_events"

	memberField = "member_id"
	expiryField = "expiry_at"
	statusField = "status"

	comped = "comped" // the status of a member whose access is complimentary
	free   = "free"
)

// cutoff returns the instant before which a subscription must have expired: the start of now's day in UTC.
// What expires today lasts until the day is over.
func cutoff(now time.Time) time.Time { return now.UTC().Truncate(retention.Day) }

const (
	kind     = "end complimentary subscription" // what the report counts: all of a member's expired ones at once
	maxNamed = 3                                // rows that a reason names
)

// judge decides about one row.
func judge(row documents.Document, now time.Time) cleanup.Decision {
	value, set := row.Data[expiryField]
	expiry, dated := row.Time(expiryField)
	id, named := row.IDIn(members, row.Data[memberField])
	switch {
	case set && value == nil:
		return cleanup.Keep(keptEndless)
	case !dated:
		return cleanup.Invalid(keptUndated)
	case !expiry.Before(cutoff(now)):
		return cleanup.Keep(keptUnexpired)
	case !named:
		return cleanup.Invalid(keptNoMember)
	case !documents.Queryable(id), !documents.Queryable(row.Data[memberField]):
		return cleanup.Invalid(keptLongMember)
	default:
		return cleanup.Do(kind, row.Path+" expired "+retention.Stamp(expiry))
	}
}

// Reasons to keep a row, or with keptMany a member and all of their rows.
const (
	keptUnexpired  = "expires today or later (UTC)"
	keptEndless    = "never expires: expiry_at is null"
	keptUndated    = "expiry_at is missing or not a timestamp"
	keptNoMember   = "expired, but member_id is missing or cannot be an id"
	keptLongMember = "expired, but member_id is too long to look for the member's other rows"
	keptMany       = "the member has more rows than one commit holds: delete some of them"
)

// reasonFor joins why a member's rows are to go.
func reasonFor(rows []string) string {
	if len(rows) <= maxNamed {
		return strings.Join(rows, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(rows[:maxNamed], ", "), len(rows)-maxNamed)
}

// eventID returns the id of the event that a member became free when these rows, the last that the member had, were deleted.
func eventID(now time.Time, memberID string, rows []documents.Document) string {
	causes := make([]string, len(rows))
	for i, row := range rows {
		expiry, _ := row.Time(expiryField)
		causes[i] = row.ID() + "/" + expiry.UTC().Format(time.RFC3339Nano)
	}
	slices.Sort(causes)
	return ObjectID(now, append([]string{memberID}, causes...)...)
}

// ObjectID returns an id in the form of a MongoDB ObjectID, which platforms that came from MongoDB expect: 24 hexadecimal
// digits, the first eight of which are the Unix seconds of at. The others are not random but a digest of causes, in their
// order: the facts that the document rests on. So one cause makes one document, however often its commit is sent.
func ObjectID(at time.Time, causes ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(causes, "\x00")))
	id := binary.BigEndian.AppendUint32(nil, uint32(at.Unix())) // the format ends in 2106
	return hex.EncodeToString(append(id, digest[:8]...))
}
