// Package files provides the rules for serving files over HTTP: preconditions and ranges (RFC 9110 §13, §14), entity
// tags, media types, names of files and listings of directories. It knows neither requests nor responses. Callers pass
// the values of header fields and get decisions, bytes or readers. Only List opens files.
package files
