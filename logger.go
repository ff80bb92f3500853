package gallop

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
)

// Logger receives the error messages of a Server. *log.Logger implements Logger.
type Logger interface {
	// Printf formats and writes a message in the same way as log.Printf.
	Printf(format string, args ...any)
}

// defaultLogger writes to standard error. Servers without a Logger use it, and so do setters of headers.
var defaultLogger Logger = log.New(os.Stderr, "gallop: ", log.LstdFlags)

// LogTo returns a Logger that writes to l. Each message becomes a record with the level slog.LevelError, the text of
// the message and no attributes. If l is nil, messages go to slog.Default(). To log attributes too, set Server.ErrorLog
// instead of Server.Logger.
func LogTo(l *slog.Logger) Logger { return slogPrinter{l} }

// slogPrinter is the Logger that LogTo returns.
type slogPrinter struct{ to *slog.Logger }

// Printf implements Logger.
func (p slogPrinter) Printf(format string, args ...any) {
	to := p.to
	if to == nil {
		to = slog.Default()
	}
	if to.Enabled(context.Background(), slog.LevelError) {
		to.Error(strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
	}
}
