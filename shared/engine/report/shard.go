package report

// Shard says in a report how one part of a split run stands.
type Shard struct {
	RunID   string `json:"runId,omitempty" firestore:"runId,omitempty"`   // its last call, for the log; none yet if empty
	Status  Status `json:"status,omitempty" firestore:"status,omitempty"` // of that call
	Runs    int    `json:"runs" firestore:"runs"`                         // its calls that ended
	Scanned int    `json:"scanned" firestore:"scanned"`
	Done    int    `json:"done" firestore:"done"`           // actions
	Through bool   `json:"through" firestore:"through"`     // its range was gone through to the end
	Left    bool   `json:"left" firestore:"left,omitempty"` // only the next scheduled run continues it
}

// Part says in the report of a task's call what it is a part of.
type Part struct {
	Of     string `json:"of" firestore:"of"`         // the run
	Number int    `json:"number" firestore:"number"` // of its shard, from 0 on
	Shards int    `json:"shards" firestore:"shards"` // how many there are
}
