"""Laws as users read them: equations, summaries, files, pictures and reports."""
