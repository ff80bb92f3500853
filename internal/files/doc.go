// Package files provides the rules by which files are served over HTTP. Its functions take bytes, times and files of
// io/fs, and return values.
package files
