"""Between the sockets and the application: nobody who sends or reads slowly holds a thread."""
