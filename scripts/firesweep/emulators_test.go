package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEmulators: one that does not answer is named at once, by its variable.
func TestEmulators(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["FIREBASE_AUTH_EMULATOR_HOST"] = "127.0.0.1:1"
	o.refuses(t, exitWrongUse, "FIREBASE_AUTH_EMULATOR_HOST names an emulator that does not answer", "plan")
	delete(o.env, "FIREBASE_AUTH_EMULATOR_HOST")
	for _, variable := range []string{"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"} {
		for _, host := range []string{"127.0.0.1:1", "http://127.0.0.1:1", "http://127.0.0.1:1/"} {
			maps.DeleteFunc(o.env, func(name, _ string) bool { return strings.Contains(name, "STORAGE_EMULATOR") })
			o.env[variable] = host
			o.refuses(t, exitWrongUse, "firesweep: "+variable+" names an emulator that does not answer", "plan")
		}
		delete(o.env, variable)
	}
	o.env["STORAGE_EMULATOR_HOST"] = strings.TrimSuffix(o.Environment["STORAGE_EMULATOR_HOST"], "/") + "/"
	o.well(t, "plan", "cleanupOrphanedMedia")
	out, errs := o.ends(t, exitFine, "plan", "cleanupReports", "--project", "my-app")
	wantParts(t, out, "project my-app on emulators")
	want(t, "standard error", "", errs)
	want(t, "exported", map[string]string{}, o.exported)
}

// at returns an address in the form of the hub and of firebase.json.
func at(host string) string {
	name, port, _ := strings.Cut(host, ":")
	return fmt.Sprintf(`{"host":%q,"port":%s}`, name, port)
}

// TestEmulatorsOfADemoProject: they are those that the Firebase CLI runs, or else those of firebase.json, without variables, and
// Google is never asked.
func TestEmulatorsOfADemoProject(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "drafts/old", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	fire, auth, storage := o.env["FIRESTORE_EMULATOR_HOST"], o.env["FIREBASE_AUTH_EMULATOR_HOST"], strings.TrimPrefix(o.env["STORAGE_EMULATOR_HOST"], "http://")
	const nobody = "127.0.0.1:1"
	hub := func(listed string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			want(t, "what the hub is asked for", "/emulators", r.URL.Path)
			fmt.Fprint(w, listed)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	all := fmt.Sprintf(`{"hub":%s,"firestore":%s,"auth":%s,"storage":%s}`, at(nobody), at(fire), at(auth), at(storage))
	origin := hub(all)
	for name, tt := range map[string]struct {
		firebase, hub string
		env           map[string]string
		exported      map[string]string // none: it is refused
		refused       string
	}{
		"firebase.json": {
			firebase: `{"emulators":{ // mine
				"singleProjectMode":true,"firestore":` + at(fire) + `,"auth":` + at(auth) + `,"storage":` + at(nobody) + `}}`,
			exported: map[string]string{"FIRESTORE_EMULATOR_HOST": fire, "FIREBASE_AUTH_EMULATOR_HOST": auth},
		},
		"the hub before firebase.json": {firebase: `{"emulators":{"firestore":` + at(nobody) + `}}`,
			hub: `{"version":"14","origins":["http://127.0.0.1:1",` + fmt.Sprintf("%q", origin) + `]}`,
			exported: map[string]string{"FIRESTORE_EMULATOR_HOST": fire, "FIREBASE_AUTH_EMULATOR_HOST": auth,
				"STORAGE_EMULATOR_HOST": storage}},
		"a hub that is gone": {firebase: `{"emulators":{"firestore":` + at(fire) + `,"auth":` + at(nobody) + `}}`,
			hub:      `{"version":"14","origins":["http://127.0.0.1:1"]}`,
			exported: map[string]string{"FIRESTORE_EMULATOR_HOST": fire}},
		"a hub without Firestore": {firebase: `{"emulators":{"firestore":` + at(fire) + `}}`,
			hub: fmt.Sprintf(`{"origins":[%q]}`, hub(`{"auth":`+at(auth)+`}`)), refused: "and none of Firestore answers"},
		"one that does not answer": {
			hub:     fmt.Sprintf(`{"origins":[%q]}`, hub(`{"firestore":`+at(fire)+`,"auth":`+at(nobody)+`}`)),
			refused: "FIREBASE_AUTH_EMULATOR_HOST names an emulator that does not answer",
		},
		"variables": {firebase: `{"emulators":{"firestore":` + at(nobody) + `}}`,
			env: map[string]string{"FIRESTORE_EMULATOR_HOST": fire}, exported: map[string]string{}},
		"a variable of another": {
			hub:      fmt.Sprintf(`{"origins":[%q]}`, hub(`{"firestore":`+at(fire)+`,"storage":`+at(nobody)+`}`)),
			env:      map[string]string{"FIREBASE_STORAGE_EMULATOR_HOST": storage},
			exported: map[string]string{"FIRESTORE_EMULATOR_HOST": fire},
		},
		"a variable of another beside firebase.json": {
			firebase: `{"emulators":{"firestore":` + at(fire) + `,"storage":` + at(fire) + `}}`,
			env:      map[string]string{"FIREBASE_STORAGE_EMULATOR_HOST": storage}, exported: map[string]string{"FIRESTORE_EMULATOR_HOST": fire},
		},
		"nobody where firebase.json says": {
			firebase: `{"emulators":{"firestore":` + at(nobody) + `,"auth":` + at("127.0.0.1:2") + `,"storage":` + at("127.0.0.1:3") + `}}`,
			refused: "is a project that only emulators have, and none of Firestore answers: the Firebase CLI runs none for it, and none is at " +
				"the port in firebase.json. Start them: firebase emulators:start --project " + o.ID + ". Or set FIRESTORE_EMULATOR_HOST",
		},
		"nothing":                    {refused: "and none of Firestore answers"},
		"firebase.json that is none": {firebase: `{"emulators":[]}`, refused: "firebase.json: json: cannot unmarshal array"},
		"a port that is none":        {firebase: `{"emulators":{"firestore":{"port":"x"}}}`, refused: "firebase.json: json: cannot unmarshal string into"},
	} {
		t.Run(name, func(t *testing.T) {
			o := *o
			o.exported = map[string]string{}
			o.inApp(t, map[string]string{"firesweep.json": drafts, "firebase.json": cmp.Or(tt.firebase, "{}"), "tmp": ""})
			if tt.hub != "" {
				write(t, o.dir+"/tmp/hub-"+o.ID+".json", tt.hub)
			}
			o.env = map[string]string{"GOOGLE_CLOUD_PROJECT": o.ID, "TMPDIR": o.dir + "/tmp"}
			maps.Copy(o.env, tt.env)
			if tt.refused != "" {
				_, errs := o.ends(t, exitWrongUse, "plan")
				wantParts(t, errs, tt.refused)
				return
			}
			out, errs := o.ends(t, exitFine, "plan")
			wantParts(t, out, "drafts/old")
			want(t, "exported", tt.exported, o.exported)
			want(t, "says where", len(tt.exported) > 0, strings.Contains(errs, "Emulators of "+o.ID+": firestore at "+fire))
		})
	}
}

// TestWhereEmulatorsListen: everywhere is here, and so is what does not say where.
func TestWhereEmulatorsListen(t *testing.T) {
	t.Parallel()
	for text, listens := range map[string]string{
		`{"port":8080}`: "127.0.0.1:8080", `{"host":"0.0.0.0","port":1}`: "127.0.0.1:1", `{"host":"localhost","port":1}`: "127.0.0.1:1",
		`{"host":"::","port":1}`: "[::1]:1", `{"host":"db","port":1}`: "db:1",
	} {
		var a address
		ok(t, json.Unmarshal([]byte(text), &a))
		want(t, text, listens, a.hostPort())
		if _, _, err := net.SplitHostPort(a.hostPort()); err != nil {
			t.Error(err)
		}
	}
}

// between returns what of a text is after one mark and before the next other one.
func between(t *testing.T, text, after, before string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, after)
	part, _, ends := strings.Cut(rest, before)
	if !begins || !ends {
		t.Fatalf("nothing between %q and %q", after, before)
	}
	return part
}

// TestReadme: the plan in README.md is that of its rule, but for the project and times, on the drafts that docs/plan.svg shows, and its nine jobs are the manifest's.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := read(t, "../../README.md")
	o := newOperator(t)
	o.inApp(t, map[string]string{"firebase.json": "{}", "firesweep.json": between(t, readme, "```json\n", "```\n")})
	drafts := regexp.MustCompile(`draft\("(\S+)", (true|false), (\d+)\)`).FindAllStringSubmatch(read(t, "../../release/record"), -1)
	for _, draft := range drafts {
		days, err := strconv.Atoi(draft[3])
		ok(t, err)
		o.Set(t, draft[1], fields{"published": draft[2] == "true", "updatedAt": now.AddDate(0, 0, -days)})
	}
	o.now = now.Add(time.Second) // a full minute is shown without its seconds
	masked := func(text string) string {
		return regexp.MustCompile(`(?s)  project .*? ms\n|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d`).ReplaceAllString(text, "…")
	}
	planned := between(t, readme, "$ firesweep plan\n", "```\n")
	want(t, "README.md's plan", masked(planned), masked(o.well(t, "plan")))

	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(between(t, readme, "## The nine jobs", "\n## "), -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	want(t, "README.md's nine jobs", jobNames(), names)
}
