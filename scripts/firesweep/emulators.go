package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// emulator is one of Firebase's emulators that jobs use.
type emulator struct {
	name      string   // in firebase.json
	port      int      // where firebase.json says none
	variables []string // with its address; the first is set if it is found
}

var emulators = []emulator{
	{"firestore", 8080, []string{"FIRESTORE_EMULATOR_HOST"}},
	{"auth", 9099, []string{"FIREBASE_AUTH_EMULATOR_HOST"}},
	{"storage", 9199, []string{"STORAGE_EMULATOR_HOST", "FIREBASE_STORAGE_EMULATOR_HOST"}},
}

// set returns which of an emulator's variables is set, and to what; "" if none is.
func (a *app) set(e emulator) (variable, host string) {
	for _, variable := range e.variables {
		if host := a.getenv(variable); host != "" {
			return variable, host
		}
	}
	return "", ""
}

// findEmulators makes sure that each emulator that the environment names answers, because clients try for long. It looks for
// those of a project that only emulators have.
func (a *app) findEmulators(ctx context.Context) error {
	id := a.getenv("GOOGLE_CLOUD_PROJECT")
	if forEmulators(id) && a.getenv("FIRESTORE_EMULATOR_HOST") == "" && a.export != nil {
		return a.discover(ctx, id)
	}
	for _, e := range emulators {
		variable, host := a.set(e)
		host = strings.TrimPrefix(host, "http://")
		if _, _, err := net.SplitHostPort(host); err != nil {
			continue // none, or a wrong setting
		}
		err := reach(ctx, host)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return wrongUse("%s names an emulator that does not answer: %w: start it, or unset the variable", variable, err)
		}
	}
	return nil
}

// reach returns an error if nobody listens at an address.
func reach(ctx context.Context, host string) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err == nil {
		_ = connection.Close() // nothing was said
	}
	return err
}

// discover finds the emulators of a project that Google does not have: those that the Firebase CLI runs, or else those that
// answer where firebase.json says. What a variable names is left as it is.
func (a *app) discover(ctx context.Context, id string) error {
	hosts := a.started(ctx, id)
	if len(hosts) == 0 {
		var err error
		if hosts, err = a.configured(); err != nil {
			return err
		}
	}
	var found, tried []string
	for _, e := range emulators {
		host := hosts[e.name]
		if _, own := a.set(e); own != "" || host == "" {
			continue
		}
		if reach(ctx, host) != nil {
			tried = append(tried, fmt.Sprintf("%s at %s", e.name, host))
			continue
		}
		a.setenv(e.variables[0], host)
		if err := a.export(e.variables[0], host); err != nil { // Google's clients read it
			return fmt.Errorf("set %s: %w", e.variables[0], err)
		}
		found = append(found, fmt.Sprintf("%s at %s", e.name, host))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.getenv("FIRESTORE_EMULATOR_HOST") == "" {
		return wrongUse("%s is a project that only emulators have, and none of Firestore answers (tried %s). Start them: "+
			"firebase emulators:start --project %s. Or set FIRESTORE_EMULATOR_HOST", id, strings.Join(tried, ", "), id)
	}
	fmt.Fprintf(a.errs, "Emulators of %s: %s\n", id, strings.Join(found, ", "))
	return nil
}

// askHub is how long the emulators' hub may take to answer.
const askHub = 2 * time.Second

// started returns the addresses of the emulators that the Firebase CLI runs for a project, by name; none if its hub does not say.
// The CLI writes where the hub is into the folder for temporary files: the beginnings of its addresses.
func (a *app) started(ctx context.Context, id string) map[string]string {
	text, err := os.ReadFile(filepath.Join(cmp.Or(a.getenv("TMPDIR"), os.TempDir()), "hub-"+id+".json"))
	var hub struct {
		Origins []string `json:"origins"`
	}
	if err != nil || json.Unmarshal(text, &hub) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askHub)
	defer cancel()
	for _, origin := range hub.Origins {
		if listed := listedBy(ctx, origin); len(listed) > 0 {
			return listed
		}
	}
	return nil
}

// listedBy returns the addresses of the emulators that a hub lists; nil if it does not answer.
func listedBy(ctx context.Context, origin string) map[string]string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/emulators", nil)
	if err != nil {
		return nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	var listed map[string]address
	if json.NewDecoder(response.Body).Decode(&listed) != nil {
		return nil
	}
	hosts := map[string]string{}
	for name, one := range listed {
		hosts[name] = one.hostPort()
	}
	return hosts
}

// configured returns the addresses of the emulators that firebase.json names, by name, or where they are by default.
func (a *app) configured() (map[string]string, error) {
	var file struct {
		Emulators map[string]json.RawMessage `json:"emulators"` // some are no emulators
	}
	if a.folder != "" {
		if err := a.readJSON(filepath.Join(a.folder, "firebase.json"), &file); err != nil {
			return nil, err
		}
	}
	hosts := map[string]string{}
	for _, e := range emulators {
		at := address{}
		if text, named := file.Emulators[e.name]; named {
			if err := json.Unmarshal(text, &at); err != nil {
				return nil, wrongUse("firebase.json: emulators.%s: %w", e.name, err)
			}
		}
		at.Port = cmp.Or(at.Port, e.port)
		hosts[e.name] = at.hostPort()
	}
	return hosts, nil
}

// address is where an emulator listens, as the Firebase CLI says it.
type address struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// hostPort returns an address to connect to, also of one that listens everywhere.
func (a address) hostPort() string {
	everywhere := map[string]string{"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}
	return net.JoinHostPort(cmp.Or(everywhere[a.Host], a.Host), strconv.Itoa(a.Port))
}
