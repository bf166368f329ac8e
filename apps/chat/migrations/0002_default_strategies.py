from django.db import migrations

# emotion, category, tone, max_length, use_memory, proactive_question (E2)
DEFAULTS = [
    ("neutral", "neutral", "professional", 300, True, False),
    ("happy", "positive", "warm", 250, True, True),
    ("excited", "positive", "enthusiastic", 250, True, True),
    ("grateful", "positive", "gracious", 200, True, False),
    ("curious", "positive", "engaging", 500, True, True),
    ("sad", "negative", "empathetic", 400, True, False),
    ("anxious", "negative", "calm_reassuring", 350, True, False),
    ("frustrated", "negative", "patient_solution_focused", 350, True, False),
    ("confused", "negative", "clear_explanatory", 500, True, True),
    ("help_seeking", "seeking", "helpful", 600, True, True),
    ("info_seeking", "seeking", "informative", 600, True, False),
    ("validation_seeking", "seeking", "supportive", 300, True, False),
]


def add_defaults(apps, schema_editor):
    strategy = apps.get_model("chat", "Strategy")
    strategy.objects.bulk_create(
        strategy(
            emotion=emotion,
            category=category,
            tone=tone,
            max_length=max_length,
            use_memory=use_memory,
            proactive_question=proactive_question,
        )
        for emotion, category, tone, max_length, use_memory, proactive_question in DEFAULTS
    )


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]
    operations = [migrations.RunPython(add_defaults, migrations.RunPython.noop)]
