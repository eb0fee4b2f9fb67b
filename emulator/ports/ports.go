// Package ports reserves ports of this machine for programs that are about to start.
package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Reservation is a port for one program.
type Reservation struct {
	Address string // host:port
	Port    int

	release sync.Once
	socket  int
}

// Reserve reserves a port for a program that is about to start and to listen there. Port 0 is any free one. If another program
// listens on the port, the error is syscall.EADDRINUSE.
//
// The port is bound, and nobody listens on it. Linux then lets a program listen there that asks for this very port and sets
// SO_REUSEADDR, as programs in Go and Java do. It gives the port to no program that asks for any port, neither for listening
// nor for an outgoing connection. Connections are refused until the program listens. So, while the reservation is held, only
// the program that was started can answer.
//
// On other systems than Linux nobody can listen on a bound port. There the port is released at once, and a program that fails
// because its port is in use must be started again with another one.
func Reserve(ctx context.Context, host string, port int) (*Reservation, error) {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	r := &Reservation{}
	ip := addresses[0].Unmap()
	if r.socket, err = open(ip); err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	r.Port, err = bind(r.socket, ip, port)
	if err != nil || runtime.GOOS != "linux" {
		r.Release()
	}
	if err != nil {
		return nil, fmt.Errorf("reserve port %d of %s: %w", port, host, err)
	}
	r.Address = net.JoinHostPort(host, fmt.Sprint(r.Port))
	return r, nil
}

// Release releases the port. It may be called more than once.
func (r *Reservation) Release() {
	r.release.Do(func() { _ = syscall.Close(r.socket) }) // it was bound and nothing else
}

// open makes a socket that child processes do not inherit.
func open(ip netip.Addr) (int, error) {
	family := syscall.AF_INET
	if ip.Is6() {
		family = syscall.AF_INET6
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	syscall.CloseOnExec(socket)
	return socket, nil
}

// bind binds the socket and returns its port.
func bind(socket int, ip netip.Addr, port int) (int, error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	var address syscall.Sockaddr = &syscall.SockaddrInet4{Port: port}
	if ip.Is4() {
		address.(*syscall.SockaddrInet4).Addr = ip.As4()
	} else {
		address = &syscall.SockaddrInet6{Port: port, Addr: ip.As16()}
	}
	if err := syscall.Bind(socket, address); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	address, err := syscall.Getsockname(socket)
	switch address := address.(type) {
	case *syscall.SockaddrInet4:
		return address.Port, nil
	case *syscall.SockaddrInet6:
		return address.Port, nil
	default:
		return 0, errors.Join(errors.New("the socket has no port"), err)
	}
}
