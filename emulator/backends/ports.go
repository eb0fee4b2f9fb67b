package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// listen listens on a backend's port.
func listen(ctx context.Context, service, host string, port int) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, portError(service, port, err)
	}
	return listener, nil
}

// portError returns the error for a port that is in use or cannot be listened on.
func portError(service string, port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return PortsInUseError{{Service: service, Port: port}}
	}
	return fmt.Errorf("listen for %s: %w", service, err)
}

// PortInUse is a port that something else holds.
type PortInUse struct {
	Service string // the service for which the port was meant
	Port    int
}

// PortsInUseError names all the ports that are in use.
type PortsInUseError []PortInUse

// Error implements error.
func (e PortsInUseError) Error() string {
	var taken []string
	for _, p := range e {
		taken = append(taken, fmt.Sprintf("port %d for %s is in use", p.Port, p.Service))
	}
	return fmt.Sprintf("%s: another local Firesweep or the Firebase Emulator Suite may be running "+
		"(this shows who holds a port: lsof -i :%d); stop that one, or choose another port", strings.Join(taken, ", "), e[0].Port)
}
