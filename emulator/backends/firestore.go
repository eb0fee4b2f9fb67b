package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/process"
)

const (
	firestoreMain         = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
	firestoreStartTimeout = 5 * time.Minute // beside thirty busy programs on two cores, Java took more than one
	firestoreAttempts     = 3

	// firestoreStarted is what the emulator prints once it listens. The first request waits for it, because something else might
	// answer on the port. It does not wait for ever, because a later version may print something else.
	firestoreStarted  = "Dev App Server is now running"
	firestorePatience = 30 * time.Second
)

// errEnded says that the Java program ended before it answered.
var errEnded = errors.New("the program ended")

// firestoreFlags let the JVM start fastest on few cores: the optimising compiler and the parallel collectors only help
// processes that live longer.
var firestoreFlags = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// firestoreEmulator is Google's emulator, running.
type firestoreEmulator struct {
	process *process.Process
	address string // host:port
}

// starter starts a program, as process.Start does.
type starter func(program string, arguments ...string) (*process.Process, error)

// startFirestore starts the emulator on the port that a listener holds, and returns when it answers. Somebody else may take that
// port before Java listens. So if the program ends and any port will do, which is what port 0 says, it tries another one.
func startFirestore(ctx context.Context, start starter, port int, on net.Listener, log io.Writer) (*firestoreEmulator, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	jar, err := findFirestoreJar(ctx, log)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		e, err := runFirestore(ctx, start, java, jar, on)
		if err == nil {
			return e, nil
		}
		if port != 0 || !errors.Is(err, errEnded) || attempt == firestoreAttempts {
			return nil, fmt.Errorf("start the Firestore emulator (%s): %w", jar, err)
		}
		if on, err = listen(ctx, 0); err != nil {
			return nil, fmt.Errorf("start the Firestore emulator: %w", err)
		}
	}
}

// runFirestore starts Java and waits until the emulator answers, the program ends or time is up.
func runFirestore(ctx context.Context, start starter, java, jar string, on net.Listener) (*firestoreEmulator, error) {
	address := on.Addr().String()
	if err := on.Close(); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	arguments := []string{"-cp", jar, firestoreMain, "start", "--host=" + host, "--port=" + port}
	p, err := start(java, slices.Concat(firestoreFlags, arguments)...)
	if err != nil {
		return nil, err
	}
	if err := awaitFirestore(ctx, p, address); err != nil {
		p.Stop()
		return nil, fmt.Errorf("%w (%w): unless %s is a Java of version 17 or later, %s; the end of what it printed:\n%s",
			err, p.Err, java, installJava, p.Output.LastLines(25))
	}
	return &firestoreEmulator{process: p, address: address}, nil
}

// awaitFirestore returns when the emulator answers a read.
func awaitFirestore(ctx context.Context, p *process.Process, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, firestoreStartTimeout,
		fmt.Errorf("it does not answer after %v", firestoreStartTimeout))
	defer cancel()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		listens := strings.Contains(p.Output.String(), firestoreStarted) || time.Since(began) > firestorePatience
		if listens && answers(ctx, address) {
			select {
			case <-p.Done: // another program answered
				return errEnded
			default:
				return nil
			}
		}
		select {
		case <-p.Done:
			return errEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// answers reports whether the emulator answers a request for a document. It expects the answer that the document is missing.
func answers(ctx context.Context, address string) bool {
	const path = "/v1/projects/demo-ready/databases/(default)/documents/ready/ready"
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // nothing of it is wanted
	return response.StatusCode == http.StatusNotFound
}
