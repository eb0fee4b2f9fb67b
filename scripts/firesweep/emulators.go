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

	"github.com/firesweep/firesweep/shared/config"
)

// emulated are the backends that Firebase has emulators of, by their names there.
var emulated = []config.Backend{config.Firestore, config.Auth, config.Storage}

// findEmulators makes sure that each emulator that the environment names answers, because clients try for long. First it looks
// for those of a project that only emulators have.
func (a *app) findEmulators(ctx context.Context) error {
	id := a.getenv("GOOGLE_CLOUD_PROJECT")
	if strings.HasPrefix(id, "demo-") && a.getenv("FIRESTORE_EMULATOR_HOST") == "" && a.export != nil {
		if err := a.discover(ctx, id); err != nil {
			return err
		}
	}
	for _, backend := range emulated {
		variable, host := config.Emulator(backend, a.getenv)
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

// discover finds the emulators of a project that Google does not have: those that the Firebase CLI runs for it, or else those
// that answer where firebase.json says. What a variable names is left as it is.
func (a *app) discover(ctx context.Context, id string) error {
	hosts := a.started(ctx, id)
	if len(hosts) == 0 {
		var err error
		if hosts, err = a.configured(ctx); err != nil {
			return err
		}
	}
	var found []string
	for _, backend := range emulated {
		host := hosts[string(backend)]
		if own, _ := config.Emulator(backend, a.getenv); own != "" || host == "" {
			continue
		}
		variable := config.EmulatorVariables[backend][0]
		a.setenv(variable, host)
		if err := a.export(variable, host); err != nil { // Google's clients read it
			return fmt.Errorf("set %s: %w", variable, err)
		}
		found = append(found, fmt.Sprintf("%s at %s", backend, host))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.getenv("FIRESTORE_EMULATOR_HOST") == "" {
		return wrongUse("%s is a project that only emulators have, and none of Firestore answers: the Firebase CLI runs none for it, "+
			"and none is at the port in firebase.json. Start them: firebase emulators:start --project %s. "+
			"Or set FIRESTORE_EMULATOR_HOST", id, id)
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

// configured returns the addresses of the emulators that answer where firebase.json says, by name.
func (a *app) configured(ctx context.Context) (map[string]string, error) {
	var file struct {
		Emulators struct {
			Firestore, Auth, Storage address
		} `json:"emulators"`
	}
	if err := a.readJSON("firebase.json", &file); err != nil {
		return nil, err
	}
	named := file.Emulators
	hosts := map[string]string{}
	for backend, at := range map[config.Backend]address{
		config.Firestore: named.Firestore, config.Auth: named.Auth, config.Storage: named.Storage,
	} {
		if at.Port != 0 && reach(ctx, at.hostPort()) == nil {
			hosts[string(backend)] = at.hostPort()
		}
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
