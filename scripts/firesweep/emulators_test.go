package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEmulators: one that does not answer is named at once, by its variable.
func TestEmulators(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.env["FIREBASE_AUTH_EMULATOR_HOST"] = "127.0.0.1:1"
	o.refuses(t, exitWrongUse, "FIREBASE_AUTH_EMULATOR_HOST names an emulator that does not answer", "plan")
	delete(o.env, "FIREBASE_AUTH_EMULATOR_HOST")
	for _, variable := range []string{"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"} {
		for _, host := range []string{"127.0.0.1:1", "http://127.0.0.1:1"} {
			maps.DeleteFunc(o.env, func(name, _ string) bool { return strings.Contains(name, "STORAGE_EMULATOR") })
			o.env[variable] = host
			o.refuses(t, exitWrongUse, "firesweep: "+variable+" names an emulator that does not answer", "plan")
		}
		delete(o.env, variable)
	}
	out, errs := o.ends(t, exitFine, "plan", "cleanupReports", "--project", "my-app")
	wantParts(t, out, "project my-app on emulators")
	want(t, "standard error", "", errs)
	want(t, "exported", map[string]string{}, o.exported)
}

// TestEmulatorsOfADemoProject: they are those that the Firebase CLI runs, without variables, and Google is never asked.
func TestEmulatorsOfADemoProject(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.Set(t, "drafts/old", map[string]any{"editedAt": now.AddDate(-1, 0, 0)})
	const fire, auth, storage, nobody = "FIRESTORE_EMULATOR_HOST", "FIREBASE_AUTH_EMULATOR_HOST", "STORAGE_EMULATOR_HOST", "127.0.0.1:1"
	hosts := map[string]string{fire: o.env[fire], auth: o.env[auth], storage: strings.TrimPrefix(o.env[storage], "http://")}
	list := func(fire, auth, storage string) string {
		listed := map[string]any{}
		for name, host := range map[string]string{"hub": nobody, "firestore": fire, "auth": auth, "storage": storage} {
			if ip, port, listens := strings.Cut(host, ":"); listens {
				listed[name] = map[string]any{"host": ip, "port": json.Number(port)}
			}
		}
		text, err := json.Marshal(listed)
		ok(t, err)
		return string(text)
	}
	for name, tt := range map[string]struct {
		hub     string
		env     []string // variables that are set
		found   []string // those that are exported
		refused bool
	}{
		"all":                   {hub: list(hosts[fire], hosts[auth], hosts[storage]), found: []string{fire, auth, storage}},
		"some do not answer":    {hub: list(hosts[fire], nobody, ""), found: []string{fire}},
		"a variable":            {hub: list(nobody, nobody, nobody), env: []string{fire}},
		"a variable of another": {hub: list(hosts[fire], nobody, nobody), env: []string{storage}, found: []string{fire}},
		"without Firestore":     {hub: list("", hosts[auth], ""), refused: true},
		"no hub":                {refused: true},
		"a hub that is none":    {hub: "[]", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := *o
			o.exported = map[string]string{}
			o.inApp(t, map[string]string{"firesweep.json": drafts, "firebase.json": "{}", "tmp": ""})
			o.env = map[string]string{"GOOGLE_CLOUD_PROJECT": o.ID, "TMPDIR": o.dir + "/tmp"}
			for _, variable := range tt.env {
				o.env[variable] = o.Environment[variable]
			}
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				want(t, "what the hub is asked for", "/emulators", r.URL.Path)
				fmt.Fprint(w, tt.hub)
			}))
			defer hub.Close()
			if tt.hub != "" {
				write(t, o.dir+"/tmp/hub-"+o.ID+".json", fmt.Sprintf(`{"version":"14","origins":["http://%s",%q]}`, nobody, hub.URL))
			}
			if tt.refused {
				o.refuses(t, exitWrongUse, "the Firebase CLI runs none of Firestore for it here. Start them: firebase emulators:start --project "+o.ID, "plan")
				return
			}
			out, errs := o.ends(t, exitFine, "plan")
			wantParts(t, out, "drafts/old")
			exported := map[string]string{}
			for _, variable := range tt.found {
				exported[variable] = hosts[variable]
			}
			want(t, "exported", exported, o.exported)
			want(t, "says where", len(tt.found) > 0, strings.Contains(errs, "Emulators of "+o.ID+": firestore at "+hosts[fire]))
		})
	}
}

// TestWhereEmulatorsListen: everywhere is here.
func TestWhereEmulatorsListen(t *testing.T) {
	t.Parallel()
	for host, listens := range map[string]string{
		"": "127.0.0.1:1", "0.0.0.0": "127.0.0.1:1", "localhost": "127.0.0.1:1", "::": "[::1]:1", "db": "db:1",
	} {
		want(t, host, listens, address{host, 1}.hostPort())
	}
}
