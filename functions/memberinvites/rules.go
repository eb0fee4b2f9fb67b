package memberinvites

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/retention"
)

// retentionDays is how many days somebody has to accept an invitation.
const retentionDays = 90

// Fields of a member: a document of members with a token is an invitation, and one with a user_id was accepted.
const (
	tokenField   = "invite_token"
	createdField = "created_at"
	userField    = "user_id"
)

// cutoff returns the instant before which an invitation must have been created to be deleted.
func cutoff(now time.Time) time.Time { return retention.DaysBefore(now, retentionDays) }

// judge decides about one member: an invitation due for deletion, or kept, and why. Accepting an invitation sets its user_id
// and may leave its token; whatever user_id holds but null, it is not certain that nobody accepted.
func judge(member documents.Document, now time.Time) (due bool, reason string) {
	if token, _ := member.Text(tokenField); token == "" {
		return false, keptTokenless
	}
	if member.Data[userField] != nil {
		return false, keptAccepted
	}
	created, ok := member.Time(createdField)
	if !ok {
		return false, keptUndated
	}
	if !created.Before(cutoff(now)) {
		return false, keptYoung
	}
	return true, fmt.Sprintf("not accepted, created %s, more than 90 days ago", created.UTC().Format(time.RFC3339))
}

// Reasons to keep a member.
const (
	keptTokenless = "invite_token is empty or not a text"
	keptAccepted  = "user_id is set: the invitation was accepted"
	keptUndated   = "created_at is missing or not a timestamp"
	keptYoung     = "created 90 days ago or less"
)
