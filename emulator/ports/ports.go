// Package ports gives a port of this machine to a program that has yet to be started.
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

	release sync.Once
	socket  int
}

// Reserve keeps a port for a program that is about to be started and to listen there. Port 0 becomes a free one; another one
// must not be listened on. The error of a port that is in use is syscall.EADDRINUSE.
//
// The port is bound and not listened on. Linux then lets a program listen there that asks for this very port, as programs in
// Go and Java can (both set SO_REUSEADDR), and gives the port to nobody who asks for any one: neither to a listener nor to an
// outgoing connection. Connections are refused until the program listens. So, as long as the reservation is held, whoever
// answers is the program that was started.
//
// Elsewhere than on Linux a port that is bound cannot be listened on: there it is given back at once, and a program that fails
// because its port is in use must be started anew with another one.
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
	bound, err := bind(r.socket, ip, port)
	if err != nil || runtime.GOOS != "linux" {
		r.Release()
	}
	if err != nil {
		return nil, fmt.Errorf("reserve port %d of %s: %w", port, host, err)
	}
	r.Address = net.JoinHostPort(host, fmt.Sprint(bound))
	return r, nil
}

// Release gives the port back, if the program no longer listens on it. It may be called more than once.
func (r *Reservation) Release() {
	r.release.Do(func() { _ = syscall.Close(r.socket) }) // it was bound and nothing else
}

// open makes a socket that programs started meanwhile do not inherit.
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
