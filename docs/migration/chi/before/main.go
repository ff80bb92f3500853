// Command before is an application of chi, which ../after is on package web.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

type order struct {
	ID    int    `json:"id"`
	Item  string `json:"item"`
	Count int    `json:"count"`
}

func requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "missing token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "Not Found", http.StatusNotFound) })
	r.Get("/hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "hello, "+chi.URLParam(r, "name")+r.URL.Query().Get("end"))
	})
	r.Route("/api", func(r chi.Router) {
		r.Use(requireToken)
		r.Put("/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
			var o order
			err := json.NewDecoder(r.Body).Decode(&o)
			if err == nil {
				o.ID, err = strconv.Atoi(chi.URLParam(r, "id"))
			}
			if err != nil {
				http.Error(w, "invalid order", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			json.NewEncoder(w).Encode(o)
		})
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &http.Server{Addr: ":" + os.Getenv("PORT"), Handler: r}
	drained := make(chan error)
	go func() {
		<-ctx.Done()
		drained <- s.Shutdown(context.Background())
	}()
	if err := s.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	if err := <-drained; err != nil {
		log.Fatal(err)
	}
}
