package browsertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/bundletest"
	_ "github.com/firesweep/firesweep/emulator/page" // so that a change of it runs these tests again
	"github.com/firesweep/firesweep/emulator/sampledata"
)

// patience bounds each test: what is waited for comes soon, or never.
const patience = 5 * time.Minute

// served is what `go run ./emulator --sample` serves, on the Firestore emulator of all tests.
type served struct {
	address string // of the page
	process *exec.Cmd
}

// serving starts the command once for all tests.
var serving = sync.OnceValues(func() (*served, error) {
	s := &served{}
	folder, err := os.MkdirTemp("", "firesweep-page-")
	if err != nil {
		return nil, err
	}
	closers = append(closers, func() {
		if s.process != nil && s.process.Process != nil {
			_ = s.process.Process.Signal(os.Interrupt)
			_ = s.process.Wait() // it says that it was interrupted
		}
		_ = os.RemoveAll(folder) // at worst a file stays in the temporary folder
	})
	program, err := bundletest.Build("./emulator")
	if err != nil {
		return s, err
	}
	if !suite {
		b, err := backends.Start(context.Background(), backends.Options{ShareFirestore: true})
		if err != nil {
			return s, err
		}
		for name, value := range map[string]string{
			backends.FirestoreHost: b.Environment()[backends.FirestoreHost], "GOOGLE_CLOUD_PROJECT": "demo-browsertest",
		} {
			if err := os.Setenv(name, value); err != nil {
				return s, err
			}
		}
	}
	s.process = exec.Command(program, "--sample", "--firestore-port=0", "--auth-port=0", "--storage-port=0", "--tasks-port=0",
		"--functions-port=0")
	stderr, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return s, err
	}
	s.process.Stderr = stderr
	printed, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		return s, err
	}
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		line := lines.Text()
		if name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "="); found && strings.HasPrefix(line, "export ") {
			if err := os.Setenv(name, value); err != nil {
				return s, err
			}
		}
		if address, found := strings.CutPrefix(line, "Look at it: "); found {
			s.address = address
		}
		if line == "ready" {
			return s, nil
		}
	}
	said, err := os.ReadFile(stderr.Name())
	return s, errors.Join(fmt.Errorf("the emulator ended before it was ready: %s", said), err)
})

func TestMain(m *testing.M) {
	code := m.Run()
	for _, closer := range closers {
		closer()
	}
	os.Exit(code)
}

// closers end what the tests have started.
var closers []func()

// browserPath returns where the browser is, "" if there is none.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser returns the browser, which is the same for all tests.
var browser = sync.OnceValue(func() context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath()))
	if os.Geteuid() == 0 { // whom Chromium gives no sandbox
		options = append(options, chromedp.NoSandbox)
	}
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	_ = chromedp.Do(ctx) // whoever opens a tab meets the error again
	closers = append(closers, func() { _ = chromedp.Cancel(ctx) })
	return ctx
})

// window is a window of the browser on the page.
type window struct {
	*testing.T
	ctx     context.Context
	address string

	mu       sync.Mutex
	asked    []string // URLs
	problems []string // exceptions and what the content policy refused
}

// open opens the page.
func open(t *testing.T) *window {
	t.Helper()
	path := browserPath()
	if path == "" {
		const missing = "there is no Chromium: on Debian, apt-get install chromium"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	s, err := serving()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser()) // a tab of its own
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open Chromium: %v", err)
	}
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	w := &window{T: t, ctx: ctx, address: s.address}
	if err := chromedp.Listen(ctx, w.note); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.check)
	call(w, network.Enable, network.EnableParams{})
	call(w, log.Enable, cdp.Empty{})
	w.do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(s.address))
	w.until(`document.querySelectorAll("nav a").length > 0`)
	return w
}

// note notes what the page asks for and what goes wrong in it.
func (w *window) note(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.asked = append(w.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		w.problems = append(w.problems, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		w.problems = append(w.problems, fmt.Sprintf("console %s", e.Type))
	case *log.EventEntryAdded:
		if strings.HasPrefix(e.Entry.Text, "Failed to load resource: the server responded") {
			return // a report of a run that failed, say: the page shows it
		}
		w.problems = append(w.problems, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
}

// check makes sure that nothing went wrong, and that nobody else was asked for anything.
func (w *window) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, problem := range w.problems {
		w.Errorf("in the page: %s", problem)
	}
	own, err := url.Parse(w.address)
	if err != nil {
		w.Fatal(err)
	}
	for _, asked := range w.asked {
		if u, err := url.Parse(asked); err != nil || u.Host != own.Host {
			w.Errorf("the page asked for %s, want nothing but %s", asked, own.Host)
		}
	}
	if len(w.asked) < 5 {
		w.Errorf("%d requests were seen: the page alone takes more", len(w.asked))
	}
}

func (w *window) do(actions ...chromedp.Action[chromedp.Void]) {
	w.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.Fatal(err)
	}
}

// call sends a command to the browser.
func call[P, R any](w *window, command cdp.Command[P, R], parameters P) {
	w.Helper()
	if _, err := chromedp.Call(w.ctx, command, parameters); err != nil {
		w.Fatal(err)
	}
}

// value returns what an expression is. It waits for a promise.
func value[T any](w *window, expression string) T {
	w.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatalf("%s: %v", expression, err)
	}
	return v
}

// waits is how long a condition may take, in milliseconds: on an idle machine it takes some.
const waits = 60_000

// until waits until an expression is true. The page looks by itself, so that nobody sleeps.
func (w *window) until(condition string) {
	w.Helper()
	came := value[bool](w, fmt.Sprintf(`new Promise((resolve) => {
		const begun = Date.now();
		const look = () => {
			if (%s) resolve(true);
			else if (Date.now() - begun > %d) resolve(false);
			else setTimeout(look, 20);
		};
		look();
	})`, condition, waits))
	if !came {
		w.Fatalf("it never was: %s; the page shows\n%s", condition, value[string](w, `document.body.innerText`))
	}
}

// project opens what the command works on.
func (w *window) project() *sampledata.Project {
	w.Helper()
	p, err := sampledata.Open(w.Context(), os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("STORAGE_BUCKET"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = p.Close() }) // all has been read
	return p
}

func (w *window) state(p *sampledata.Project) sampledata.State {
	w.Helper()
	s, err := p.Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return s
}
