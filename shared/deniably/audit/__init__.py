"""Checks that code keeps what a survey claims: by enumerating every branch, by replays and by
counting."""
