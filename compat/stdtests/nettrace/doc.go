// Package nettrace stands for internal/nettrace.
package nettrace
