"""What a respondent's device, a survey server and an analyst must agree on."""
