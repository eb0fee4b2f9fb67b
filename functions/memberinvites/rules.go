package memberinvites

import (
	"fmt"
	"time"

	"github.com/firesweep/firesweep/shared/retention"
	"github.com/firesweep/firesweep/shared/sweep"
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

// judge decides about one member, who may be an invitation. Accepting one sets its user_id and may leave its token; whatever
// user_id holds but null, it is not certain that nobody accepted.
func judge(member sweep.Subject, run sweep.Run) sweep.Decision {
	token, _ := member.Text(tokenField)
	created, dated := member.Time(createdField)
	switch {
	case token == "":
		return sweep.Invalid(keptTokenless)
	case member.Data[userField] != nil:
		return sweep.Keep(keptAccepted)
	case !dated:
		return sweep.Invalid(keptUndated)
	case !created.Before(cutoff(run.Now)):
		return sweep.Keep(keptYoung)
	}
	return sweep.Do("delete invite", fmt.Sprintf("not accepted, created %s, more than 90 days ago", created.UTC().Format(time.RFC3339)))
}

// Reasons to keep a member.
const (
	keptTokenless = "invite_token is empty or not a text"
	keptAccepted  = "user_id is set: the invitation was accepted"
	keptUndated   = "created_at is missing or not a timestamp"
	keptYoung     = "created 90 days ago or less"
)
