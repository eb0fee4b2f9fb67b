package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/firesweep/firesweep" // registers all functions
	"github.com/firesweep/firesweep/emulator/lab/standin"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/sweep"
)

// childArgument has the program be the process that is measured, and nothing else.
const childArgument = "run-one-job"

// order is what the measured process is told.
type order struct {
	Case   string
	Job    string
	Seed   bool // the seed's algorithm and not the job
	Google standin.Address
}

// outcome is what it answers.
type outcome struct {
	Report  *sweep.Report
	Elapsed time.Duration // of the request
	CPU     time.Duration // of the process, from the request to its answer
	Memory  int64         // bytes, the most that the process held; 0 where the system does not tell
}

// runOne runs a job once by its function's own HTTP handler, on services at an address.
func runOne(in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	job, known := functions.Registered()[o.Job]
	if !known {
		return fmt.Errorf("there is no job %q", o.Job)
	}
	folder, err := os.MkdirTemp("", "lab-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left is in the system's folder for such things
	credentials := filepath.Join(folder, "credentials.json")
	if err := os.WriteFile(credentials, o.Google.Credentials, 0o600); err != nil {
		return err
	}
	if err := os.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials); err != nil {
		return err
	}
	if o.Seed {
		return runSeedOnce(o, out)
	}
	f := functions.New(job)
	defer f.Close()
	f.Log = io.Discard
	f.Getenv = func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": o.Google.Project, "STORAGE_BUCKET": o.Google.Bucket}[name]
	}
	f.Hooks.Dial, f.Hooks.Transport = o.Google.Dial(), o.Google.Transport
	answer := httptest.NewRecorder()
	before, began := cpu(), time.Now()
	f.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	result := outcome{Elapsed: time.Since(began), CPU: cpu() - before, Memory: peak()}
	if err := json.Unmarshal(answer.Body.Bytes(), &result.Report); err != nil || result.Report.RunID == "" {
		return fmt.Errorf("%s answered %d: %s", o.Job, answer.Code, answer.Body)
	}
	return json.NewEncoder(out).Encode(result)
}

func runSeedOnce(o order, out io.Writer) error {
	for _, m := range cases {
		if m.name != o.Case {
			continue
		}
		before, began := cpu(), time.Now()
		report, err := runSeed(context.Background(), o, m.seed)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(outcome{Report: report, Elapsed: time.Since(began), CPU: cpu() - before, Memory: peak()})
	}
	return fmt.Errorf("there is no case %q", o.Case)
}

// cpu returns the time that the process has computed.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the most memory that the process has held, as Linux tells it.
func peak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
