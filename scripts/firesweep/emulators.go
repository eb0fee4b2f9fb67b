package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
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

// discover finds the emulators of a project that Google does not have: those that answer where firebase.json says. What a
// variable names is left as it is.
func (a *app) discover(ctx context.Context, id string) error {
	hosts, err := a.configured()
	if err != nil {
		return err
	}
	var found, tried []string
	for _, e := range emulators {
		host := hosts[e.name]
		if _, own := a.set(e); own != "" {
			continue
		}
		at := e.name + " at " + host
		if tried = append(tried, at); reach(ctx, host) != nil {
			continue
		}
		a.setenv(e.variables[0], host)
		if err := a.export(e.variables[0], host); err != nil { // Google's clients read it
			return fmt.Errorf("set %s: %w", e.variables[0], err)
		}
		found = append(found, at)
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

// configured returns the addresses of the emulators that firebase.json names, by name, or where they are by default.
func (a *app) configured() (map[string]string, error) {
	var file struct {
		Emulators map[string]json.RawMessage `json:"emulators"` // some are no emulators
	}
	if a.folder != "" {
		name := filepath.Join(a.folder, "firebase.json")
		text, err := os.ReadFile(name)
		if err == nil {
			text, err = hujson.Standardize(text)
		}
		if err == nil {
			err = json.Unmarshal(text, &file)
		}
		if err != nil && !os.IsNotExist(err) {
			return nil, wrongUse("%s: %w", a.short(name), err)
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
	host := a.Host
	switch host {
	case "", "0.0.0.0", "localhost":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port))
}
