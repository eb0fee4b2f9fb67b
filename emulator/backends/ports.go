package backends

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// chooseAddress returns host and port to listen on. A given port must be free, port 0 becomes a free one.
func chooseAddress(ctx context.Context, service, host string, port int) (string, error) {
	listener, err := listen(ctx, service, host, port)
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("choose a port for %s: %w", service, err)
	}
	return address, nil
}

// listen listens where a backend is to answer.
func listen(ctx context.Context, service, host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		if isAddressInUse(err) {
			return nil, portInUse(service, address, err)
		}
		return nil, fmt.Errorf("listen for %s: %w", service, err)
	}
	return listener, nil
}

func isAddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// portInUse says what to do about a port that something else holds.
func portInUse(service, address string, err error) error {
	_, port, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		port = address
	}
	return fmt.Errorf("port %[2]s for %[1]s is in use: another local Firesweep or the Firebase Emulator Suite may be running "+
		"(see who holds it with: lsof -i :%[2]s); stop that one, or choose another port: %[3]w", service, port, err)
}
