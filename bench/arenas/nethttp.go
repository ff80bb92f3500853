package arenas

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"
	"google.golang.org/grpc"

	"github.com/gallop-http/gallop/examples/arena/profile"
)

// newNetHTTP serves with net/http. The standard library does not compress responses, so a few lines do it here. gRPC is served
// by grpc-go's own handler on the same port.
func newNetHTTP(o Options) Serve {
	mux := http.NewServeMux()
	mux.HandleFunc("/baseline11", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		q := r.URL.Query()
		text, err := sum(q.Get("a"), q.Get("b"), string(body))
		sendText(w, text, err)
	})
	mux.HandleFunc("GET /pipeline", func(w http.ResponseWriter, _ *http.Request) { sendText(w, "ok", nil) })
	mux.HandleFunc("GET /json/{count}", func(w http.ResponseWriter, r *http.Request) {
		document, err := lines(r.PathValue("count"), r.URL.Query().Get("m"))
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			defer z.Close()
			w = zipped{w, z}
		}
		sendJSON(w, 200, document, err)
	})
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		sendText(w, strconv.FormatInt(n, 10), err)
	})
	mux.HandleFunc("GET /ws", echoWebSocket)
	if o.Files != "" {
		mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServer(http.Dir(o.Files))))
	}
	if o.Items != nil {
		itemsOnNetHTTP(mux, &store{items: o.Items})
	}
	return func(l net.Listener) error {
		s := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
		s.Protocols.SetHTTP1(true)
		if o.H2C {
			s.Protocols.SetUnencryptedHTTP2(true)
			s.Handler = withGRPC(mux)
		}
		return s.Serve(l)
	}
}

func itemsOnNetHTTP(mux *http.ServeMux, s *store) {
	mux.HandleFunc("GET /async-db", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.priceRange(r.Context(), r.URL.Query().Get)
		sendJSON(w, 200, page, err)
	})
	mux.HandleFunc("GET /crud/items", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.list(r.Context(), r.URL.Query().Get)
		sendJSON(w, 200, page, err)
	})
	mux.HandleFunc("POST /crud/items", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		item, err := s.put(r.Context(), body)
		sendJSON(w, 201, item, err)
	})
	mux.HandleFunc("GET /crud/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, hit, err := s.get(r.Context(), r.PathValue("id"))
		if err == nil {
			w.Header().Set("X-Cache", cacheState(hit))
		}
		sendJSON(w, 200, json.RawMessage(body), err)
	})
	mux.HandleFunc("PUT /crud/items/{id}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		item, err := s.update(r.Context(), r.PathValue("id"), body)
		sendJSON(w, 200, item, err)
	})
}

// zipped compresses what is written.
type zipped struct {
	http.ResponseWriter
	to io.Writer
}

func (z zipped) Write(p []byte) (int, error) { return z.to.Write(p) }

func sendText(w http.ResponseWriter, text string, err error) {
	w.Header().Set("Content-Type", "text/plain")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	io.WriteString(w, text)
}

func sendJSON(w http.ResponseWriter, code int, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(code)
	w.Write(body)
}

func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil || conn.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}

func withGRPC(other http.Handler) http.Handler {
	rpc := grpc.NewServer()
	profile.RegisterSumsServer(rpc, sums{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			rpc.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

type sums struct {
	profile.UnimplementedSumsServer
}

func (sums) Add(_ context.Context, in *profile.AddRequest) (*profile.AddResponse, error) {
	return &profile.AddResponse{Sum: in.A + in.B}, nil
}
