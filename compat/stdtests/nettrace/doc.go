// Package nettrace replaces internal/nettrace.
package nettrace
