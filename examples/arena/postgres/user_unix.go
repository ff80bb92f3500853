//go:build unix

package postgres

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ordinaryUser makes root run the server as the user postgres, because PostgreSQL refuses to run as root.
func ordinaryUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w for root: %w", ErrMissing, err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, uid, -1); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(os.Getgid()), NoSetGroups: true}}, nil
}
