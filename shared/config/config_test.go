package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/emulator/check"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestLoadDefaults(t *testing.T) {
	got, err := Load(env("GOOGLE_CLOUD_PROJECT", "my-project", "DRY_RUN", "false", "MAX_ACTIONS", ""), nil, Firestore)
	check.OK(t, err)
	want := Config{
		Project: "my-project", Database: "(default)", Locale: "ja",
		MaxActions: 100_000, MaxDuePercent: 50, UndoDays: 7,
	}
	check.Same(t, "Load", want, got, cmp.AllowUnexported(Config{}))
	check.Same(t, "any emulator is set", false, got.Emulators.Any())
}

// own is what one function alone is told.
type own struct {
	Number int
	Text   string
}

var readOwn Own[own] = func(l *Loader) own {
	return own{l.Integer("OWN_NUMBER", 3, 1, 9), Parsed(l, "OWN_TEXT", "b", "some text", func(v string) (string, error) {
		if v = strings.TrimSpace(v); v == "" {
			return "", errors.New("it is empty")
		}
		return v, nil
	})}
}

func TestLoadEverything(t *testing.T) {
	got, err := Load(env(
		"GOOGLE_CLOUD_PROJECT", "my-project", "STORAGE_BUCKET", "my-project.firebasestorage.app",
		"FIRESTORE_DATABASE", "ghost", "DRY_RUN", "true", "NOTIFICATION_LOCALE", "en",
		"MAX_ACTIONS", "5", "MAX_DUE_PERCENT", "1", "UNDO_DAYS", "0", "OWN_NUMBER", "7", "OWN_TEXT", " a ",
		"TASKS_LOCATION", "asia-northeast1", "TASKS_QUEUE", "warnings",
		"TASKS_SERVICE_ACCOUNT", "tasks@my-project.iam.gserviceaccount.com", "TASKS_TARGET_URL", "https://worker.example/f",
		"FIRESTORE_EMULATOR_HOST", "127.0.0.1:8080", "FIREBASE_STORAGE_EMULATOR_HOST", "127.0.0.1:9199",
		"FIREBASE_AUTH_EMULATOR_HOST", "127.0.0.1:9099", "CLOUD_TASKS_EMULATOR_HOST", "127.0.0.1:9499",
	), readOwn, Firestore, Storage, Auth, Tasks)
	check.OK(t, err)
	want := Config{
		Project: "my-project", Bucket: "my-project.firebasestorage.app", Database: "ghost", DryRun: true, Locale: "en",
		MaxActions: 5, MaxDuePercent: 1,
		own:           own{7, "a"},
		TasksLocation: "asia-northeast1", TasksQueue: "warnings",
		TasksServiceAccount: "tasks@my-project.iam.gserviceaccount.com", TasksTargetURL: "https://worker.example/f",
		Emulators: Emulators{Firestore: "127.0.0.1:8080", Storage: "127.0.0.1:9199", Auth: "127.0.0.1:9099", Tasks: "127.0.0.1:9499"},
	}
	check.Same(t, "Load", want, got, cmp.AllowUnexported(Config{}))
	check.Same(t, "the function's own settings", own{7, "a"}, readOwn.In(got))
}

func TestLoadReportsAllProblemsTogether(t *testing.T) {
	_, err := Load(env(
		"STORAGE_BUCKET", "gs://my-bucket", "FIRESTORE_DATABASE", "A!", "DRY_RUN", "yes", "NOTIFICATION_LOCALE", "fr",
		"MAX_ACTIONS", "0", "MAX_DUE_PERCENT", "0", "OWN_NUMBER", "many", "OWN_TEXT", " ",
		"TASKS_TARGET_URL", "worker", "FIRESTORE_EMULATOR_HOST", "localhost",
	), readOwn, Firestore, Storage, Tasks)
	var problems *Error
	if !errors.As(err, &problems) {
		t.Fatalf("Load: %v, want an *Error", err)
	}
	for _, name := range []string{
		"GOOGLE_CLOUD_PROJECT", "STORAGE_BUCKET", "FIRESTORE_DATABASE", "DRY_RUN", "NOTIFICATION_LOCALE",
		"MAX_ACTIONS", "MAX_DUE_PERCENT", "OWN_NUMBER", "OWN_TEXT", "TASKS_LOCATION", "TASKS_QUEUE",
		"TASKS_SERVICE_ACCOUNT", "TASKS_TARGET_URL", "FIRESTORE_EMULATOR_HOST", "STORAGE_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST",
	} {
		check.Same(t, "how often the message names "+name, 1, strings.Count(err.Error(), name+" is"))
	}
}

func TestLoadAsksOnlyForWhatIsUsed(t *testing.T) {
	_, err := Load(env("GOOGLE_CLOUD_PROJECT", "my-project", "DRY_RUN", "true"), nil, Firestore, Auth)
	check.Same(t, "a function without Storage and Tasks needs none of their settings", nil, err)
	_, err = Load(env("GOOGLE_CLOUD_PROJECT", "my-project", "DRY_RUN", "true"), nil, Firestore, Storage)
	check.Fails(t, err, "STORAGE_BUCKET")
}

// TestDryRunMustBeSaid, but where there is nothing to lose; who runs nothing need not be told.
func TestDryRunMustBeSaid(t *testing.T) {
	project := []string{"GOOGLE_CLOUD_PROJECT", "my-project"}
	for _, value := range []string{"", "yes"} {
		_, err := Load(env(append(project, "DRY_RUN", value)...), nil, Firestore)
		if err == nil || strings.Count(err.Error(), "DRY_RUN is ") != 1 {
			t.Errorf("DRY_RUN=%q: %v", value, err)
		}
	}
	for _, value := range []string{"true", "false"} {
		c, err := Load(env(append(project, "DRY_RUN", value)...), nil, Firestore)
		check.Same(t, "DRY_RUN="+value, []any{nil, value}, []any{err, strconv.FormatBool(c.DryRun)})
	}
	c, err := Load(env(append(project, "FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")...), nil, Firestore)
	check.Same(t, "on emulators", []any{false, nil}, []any{c.DryRun, err})
	c, err = Load(Previewing(env(append(project, "DRY_RUN", "false")...)), nil, Firestore)
	check.Same(t, "previewing", []any{true, nil}, []any{c.DryRun, err})
}

func TestLoadRefusesToMixEmulatorsAndGoogle(t *testing.T) {
	base := []string{"GOOGLE_CLOUD_PROJECT", "my-project", "STORAGE_BUCKET", "my-bucket"}
	for _, one := range []string{"FIRESTORE_EMULATOR_HOST", "STORAGE_EMULATOR_HOST", "FIREBASE_AUTH_EMULATOR_HOST"} {
		_, err := Load(env(append(base, one, "127.0.0.1:1")...), nil, Firestore, Storage)
		check.Fails(t, err)
	}
	both := append(slices.Clone(base), "FIRESTORE_EMULATOR_HOST", "127.0.0.1:1", "STORAGE_EMULATOR_HOST", "http://127.0.0.1:2/")
	c, err := Load(env(both...), nil, Firestore, Storage)
	check.OK(t, err)
	if c.Emulators.Storage != "127.0.0.1:2" || !c.Emulators.Any() {
		t.Errorf("Emulators = %+v", c.Emulators)
	}
}

func TestForOneFunction(t *testing.T) {
	getenv := env("FIRESTORE_DATABASE", "gitlab", "FIRESTORE_DATABASE_cleanExpiredComped", "ghost", "FIRESTORE_DATABASE_", "x", "MAX_ACTIONS_cleanExpiredComped", "")
	for function, want := range map[string]string{"cleanExpiredComped": "ghost", "cleanExpired": "gitlab", "removeUnacceptedMemberInvites": "gitlab"} {
		check.Same(t, function+" works on", want, For(function, getenv)("FIRESTORE_DATABASE"))
	}
	check.Same(t, "a variable that is not set", "", For("cleanExpiredComped", getenv)("MAX_USERS"))
}
