package meter

import (
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/check"
)

// TestSeveralRanges follows the examples of https://firebase.google.com/docs/firestore/pricing#index-reads.
func TestSeveralRanges(t *testing.T) {
	people := (&firestore.Client{}).Collection("people").Query
	for name, tt := range map[string]struct {
		query firestore.Query
		want  bool
	}{
		"everything":                     {people, false},
		"by name":                        {people.OrderBy(firestore.DocumentID, firestore.Asc), false},
		"equality and range":             {people.Where("age", "==", 35).Where("since", ">=", 1), false},
		"equality, by name":              {people.Where("age", "==", 35).OrderBy(firestore.DocumentID, firestore.Asc), false},
		"two sides of one range":         {people.Where("age", ">", 35).Where("age", "<", 40).OrderBy("age", firestore.Asc), false},
		"an order and no range":          {people.Where("list", "array-contains", 1).OrderBy("age", firestore.Asc), false},
		"two ranges":                     {people.Where("age", ">=", 35).Where("since", ">=", 1), true},
		"two unequal":                    {people.Where("age", "!=", 35).Where("since", "not-in", []int{1}), true},
		"one is not null":                {people.Where("age", "!=", nil).Where("since", ">", 1), true},
		"a range, ordered by another":    {people.Where("age", ">=", 35).OrderBy("since", firestore.Asc), true},
		"names, ordered by a field":      {people.Where(firestore.DocumentID, "in", []any{(&firestore.Client{}).Doc("people/a")}).OrderBy("age", firestore.Asc), true},
		"a range, then by name":          {people.Where("age", ">", 1).OrderBy("age", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc), true},
		"an order and the name":          {people.OrderBy("age", firestore.Asc).OrderBy(firestore.DocumentID, firestore.Asc), true},
		"null is an equality, then name": {people.Where("age", "==", nil).OrderBy(firestore.DocumentID, firestore.Asc), false},
		"ranges in alternatives": {people.WhereEntity(firestore.OrFilter{Filters: []firestore.EntityFilter{
			firestore.PropertyFilter{Path: "age", Operator: ">", Value: 1},
			firestore.PropertyFilter{Path: "since", Operator: "<", Value: 1}}}), true},
	} {
		serialized, err := tt.query.Serialize()
		check.OK(t, err)
		var req firestorepb.RunQueryRequest
		check.OK(t, proto.Unmarshal(serialized, &req))
		check.Same(t, name, tt.want, severalRanges(req.GetStructuredQuery()))
	}
}
