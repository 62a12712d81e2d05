"""What a respondent's device remembers and permits; pure, it neither sends nor stores."""
