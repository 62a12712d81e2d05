"""That code keeps its claim: by enumeration of what it does, and by counting."""
