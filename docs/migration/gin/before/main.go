// Command before is an application of gin, which ../after is on package web.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/gin-gonic/gin"
)

type order struct {
	ID    int    `json:"id" uri:"id"`
	Item  string `json:"item"`
	Count int    `json:"count"`
}

func requireToken(c *gin.Context) {
	if c.GetHeader("Authorization") != "Bearer secret" {
		c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "missing token"})
		return
	}
	c.Next()
}

func main() {
	r := gin.New()
	r.Use(gin.Logger(), gin.Recovery())
	r.NoRoute(func(c *gin.Context) { c.JSON(http.StatusNotFound, gin.H{"error": "Not Found"}) })
	r.GET("/hello/:name", func(c *gin.Context) {
		c.String(http.StatusOK, "hello, %s%s", c.Param("name"), c.Query("end"))
	})
	api := r.Group("/api", requireToken)
	api.PUT("/orders/:id", func(c *gin.Context) {
		var o order
		if c.ShouldBindJSON(&o) != nil || c.ShouldBindUri(&o) != nil {
			c.JSON(http.StatusBadRequest, gin.H{"error": "invalid order"})
			return
		}
		c.JSON(http.StatusCreated, o)
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
