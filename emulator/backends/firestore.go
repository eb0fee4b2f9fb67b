package backends

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firesweep/firesweep/emulator/ports"
)

const (
	firestoreMain         = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
	firestoreStartTimeout = 5 * time.Minute // beside thirty busy programs on two cores, Java took more than one
	firestoreAttempts     = 5

	// firestoreStarted is what the emulator prints once it listens. The first request waits for it, because something else might
	// answer on a port that is not reserved. It does not wait for ever, because a later version may print something else.
	firestoreStarted  = "Dev App Server is now running"
	firestorePatience = 30 * time.Second
)

// errEnded says that the Java program ended before it answered.
var errEnded = errors.New("the program ended")

// errPortTaken says that the Java program could not listen on its port.
var errPortTaken = errors.New("the port is in use")

// firestoreFlags let the JVM start fastest on few cores: the optimising compiler and the parallel collectors only help
// processes that live longer. Texts of errors are compared in English.
var firestoreFlags = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.language=en"}

// firestoreEmulator is Google's emulator, running.
type firestoreEmulator struct {
	process *process
	address string // host:port
}

// starter starts a program, as startProcess does.
type starter func(program string, arguments ...string) (*process, error)

// startFirestore starts the emulator on the port that is reserved for it, and returns when it answers. Port 0 is any free one.
// On systems where a reservation does not hold (see ports.Reserve), it then tries another port if the first is taken.
func startFirestore(
	ctx context.Context, start starter, host string, port int, reserved *ports.Reservation, log io.Writer,
) (*firestoreEmulator, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	jar, err := findFirestoreJar(ctx, log)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		e, err := runFirestore(ctx, start, java, jar, host, reserved)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, errPortTaken):
			return nil, fmt.Errorf("start the Firestore emulator (%s): %w", jar, err)
		case port != 0:
			return nil, PortsInUseError{{Service: "Firestore", Port: port}}
		case attempt == firestoreAttempts:
			return nil, fmt.Errorf("start the Firestore emulator: no port stayed free in %d attempts: %w", attempt, err)
		}
		if reserved, err = ports.Reserve(ctx, host, 0); err != nil {
			return nil, err
		}
		defer reserved.Release()
	}
}

// runFirestore starts Java and waits until the emulator answers, the program ends or time is up.
func runFirestore(
	ctx context.Context, start starter, java, jar, host string, on *ports.Reservation,
) (*firestoreEmulator, error) {
	arguments := slices.Concat(firestoreFlags,
		[]string{"-cp", jar, firestoreMain, "start", "--host=" + host, "--port=" + strconv.Itoa(on.Port)})
	p, err := start(java, arguments...)
	if err != nil {
		return nil, err
	}
	if err := awaitFirestore(ctx, p, on.Address); err != nil {
		p.stop()
		return nil, explainJavaFailure(java, p, err)
	}
	return &firestoreEmulator{process: p, address: on.Address}, nil
}

// awaitFirestore returns when the emulator answers a read.
func awaitFirestore(ctx context.Context, p *process, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, firestoreStartTimeout,
		fmt.Errorf("it does not answer after %v", firestoreStartTimeout))
	defer cancel()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		listens := strings.Contains(p.output.String(), firestoreStarted) || time.Since(began) > firestorePatience
		if listens && answers(ctx, address) {
			select {
			case <-p.done: // another program answered
				return errEnded
			default:
				return nil
			}
		}
		select {
		case <-p.done:
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
