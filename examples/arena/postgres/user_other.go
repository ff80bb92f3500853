//go:build !unix

package postgres

import "syscall"

func ordinaryUser(string) (*syscall.SysProcAttr, error) { return nil, nil }
