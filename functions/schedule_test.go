package functions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{ // want is part of the error; empty: none
		{name: "as it is"},
		{"listed twice", `"name": "cleanupReports"`, `"name": "cleanExpiredComped"`, "cleanExpiredComped: listed twice"},
		{"name", `"name": "cleanupReports"`, `"name": "Cleanup reports"`, "not in camelCase"},
		{"package", `"package": "reports"`, `"package": "../reports"`, "package"},
		{"misspelt field", `"timeoutSeconds": 300`, `"timeoutsSeconds": 300`, "unknown field"},
		{"no timeout", `"timeoutSeconds": 300`, `"timeoutSeconds": 0`, "timeoutSeconds is 0"},
		{"timeout as text", `"timeoutSeconds": 300`, `"timeoutSeconds": "300"`, "cannot unmarshal"},
		{"longer than Cloud Scheduler waits", `"timeoutSeconds": 300`, `"timeoutSeconds": 1741`, "longer than Cloud Scheduler waits"},
		{"memory", `"memory": "256Mi"`, `"memory": "256"`, "memory"},
		{"trigger", `"trigger": "schedule"`, `"trigger": "cron"`, "neither schedule nor tasks"},
		{"schedule", `"schedule": "0 0 * * *"`, `"schedule": "0 0 * *"`, "no unix-cron"},
		{"no time zone", `"timeZone": "Asia/Tokyo"`, `"timeZone": ""`, "no timeZone"},
		{"role", `"firestore"`, `"fire"`, "no role on Firestore"},
		{"worker misspelt", `"worker": "deletePlaceholderUser"`, `"worker": "deletePlaceholderUsers"`, "deletePlaceholderUser: no job hands tasks to it"},
		{"queue", `"maxAttempts"`, `"attempts"`, "unknown field"},
		{"stops too late", `"stopAfterSeconds": 240`, `"stopAfterSeconds": 2400`, "stopAfterSeconds is 2400"},
		{"something after it", "\n  ]\n}\n", "\n  ]\n}\n{}", "something after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(string(scheduleJSON), tt.old, tt.new, 1)
			if tt.name != "as it is" && text == string(scheduleJSON) {
				t.Fatalf("schedule.json has no %s", tt.old)
			}
			entries, err := Parse([]byte(text))
			if tt.want == "" {
				if err != nil || len(entries) != strings.Count(text, `"name":`) {
					t.Fatalf("%d entries of %d names, %v", len(entries), strings.Count(text, `"name":`), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || entries != nil {
				t.Errorf("%d entries, error %v, want one that says %q", len(entries), err, tt.want)
			}
		})
	}
}

// FuzzParse: whatever is accepted can be deployed, and comes back.
func FuzzParse(f *testing.F) {
	f.Add(scheduleJSON)
	for _, seed := range []string{"", "null", "{}", `{"functions":null}`, `{"functions":[null]}`, `{"functions":[{}]}`, `{"functions":{}}`, `{"functions":[{"queue":{}}]}`,
		`{"functions":[{"name":"a","package":"a","description":"d","trigger":"schedule","timeoutSeconds":60,"memory":"1Gi","roles":{"firestore":[]},"schedule":"0 0 * * *","timeZone":"UTC"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := Parse(text)
		if err != nil {
			if entries != nil {
				t.Fatalf("refused, and yet %d entries", len(entries))
			}
			return
		}
		var names []string
		for _, e := range entries {
			if e.Name == "" || slices.Contains(names, e.Name) || e.Timeout() < minTimeout || (e.Trigger == Schedule) == (e.Queue != nil) {
				t.Errorf("accepted %+v", e)
			}
			names = append(names, e.Name)
		}
		written, err := json.Marshal(map[string]any{"functions": entries})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Errorf("again %v (-want +got):\n%s", err, diff)
		}
	})
}
